//! The engine behind a scheduler class of Hadoop's ResourceManager.
//!
//! Java calls two functions, both with bytes in and bytes out: [`sessions::start`] starts an engine and returns a
//! handle, [`sessions::call`] carries out one call on it. The first byte of an answer says whether the call was
//! carried out, refused by the engine, or failed; Java makes exceptions of the last two. No panic crosses to Java.
//!
//! The bytes are described in [`wire`], the calls in [`calls`].

pub mod calls;
pub mod configuration;
pub mod events;
pub mod records;
pub mod sessions;
pub mod wire;

use jni::EnvUnowned;
use jni::errors::ThrowRuntimeExAndDefault;
use jni::objects::{JByteArray, JClass};
use jni::sys::{jint, jlong};

/// `NativeEngine.start`: starts an engine.
#[expect(
    unsafe_code,
    reason = "the virtual machine finds the function by its name"
)]
#[unsafe(no_mangle)]
pub extern "system" fn Java_org_capsched_yarn_NativeEngine_start<'caller>(
    mut env: EnvUnowned<'caller>,
    _class: JClass<'caller>,
    request: JByteArray<'caller>,
) -> JByteArray<'caller> {
    env.with_env(|env| -> jni::errors::Result<_> {
        let request = env.convert_byte_array(&request)?;
        env.byte_array_from_slice(&sessions::start(&request))
    })
    .resolve::<ThrowRuntimeExAndDefault>()
}

/// `NativeEngine.call`: one call on an engine.
#[expect(
    unsafe_code,
    reason = "the virtual machine finds the function by its name"
)]
#[unsafe(no_mangle)]
pub extern "system" fn Java_org_capsched_yarn_NativeEngine_call<'caller>(
    mut env: EnvUnowned<'caller>,
    _class: JClass<'caller>,
    handle: jlong,
    call: jint,
    request: JByteArray<'caller>,
) -> JByteArray<'caller> {
    env.with_env(|env| -> jni::errors::Result<_> {
        let request = env.convert_byte_array(&request)?;
        env.byte_array_from_slice(&sessions::call(handle, call, &request))
    })
    .resolve::<ThrowRuntimeExAndDefault>()
}
