package org.capsched.yarn;

/** A call that the engine refused. Nothing changed then. */
public final class EngineException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String code;

  EngineException(String code, String message) {
    super(message);
    this.code = code;
  }

  /** A stable word for the reason, such as {@code unknown_application}. */
  public String code() {
    return code;
  }
}
