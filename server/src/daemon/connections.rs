//! How many connections are open at once. Further ones are closed before anything is read from them.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum_server::accept::Accept;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Accepts connections as long as there are few enough.
#[derive(Clone, Debug)]
pub(super) struct FewConnections<A> {
    inner: A,
    free: Arc<Semaphore>,
}

impl<A> FewConnections<A> {
    pub(super) fn new(inner: A, most: usize) -> Self {
        Self {
            inner,
            free: Arc::new(Semaphore::new(most)),
        }
    }
}

type Accepted<S, T> = Pin<Box<dyn Future<Output = io::Result<(S, T)>> + Send>>;

impl<A, I, S> Accept<I, S> for FewConnections<A>
where
    A: Accept<I, S>,
    A::Stream: Unpin,
    A::Future: Send + 'static,
{
    type Stream = Counted<A::Stream>;
    type Service = A::Service;
    type Future = Accepted<Self::Stream, A::Service>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() else {
            let full = io::Error::other("as many connections are open as there may be");
            return Box::pin(async { Err(full) });
        };
        let accepted = self.inner.accept(stream, service);
        Box::pin(async move {
            let (inner, service) = accepted.await?;
            Ok((Counted::new(inner, permit), service))
        })
    }
}

/// A connection that counts until it is closed.
#[derive(Debug)]
pub(crate) struct Counted<S> {
    inner: S,
    _permit: OwnedSemaphorePermit,
}

impl<S> Counted<S> {
    pub(crate) const fn new(inner: S, permit: OwnedSemaphorePermit) -> Self {
        Self {
            inner,
            _permit: permit,
        }
    }

    /// The connection itself.
    #[cfg(feature = "grpc")]
    pub(crate) const fn inner(&self) -> &S {
        &self.inner
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use axum_server::accept::DefaultAcceptor;

    use super::*;

    #[tokio::test]
    async fn a_connection_counts_until_it_is_closed() {
        let few = FewConnections::new(DefaultAcceptor::new(), 2);
        let first = few.accept(tokio::io::duplex(1).0, ()).await.unwrap();
        let second = few.accept(tokio::io::duplex(1).0, ()).await.unwrap();
        assert!(few.accept(tokio::io::duplex(1).0, ()).await.is_err());
        drop(first);
        let third = few.accept(tokio::io::duplex(1).0, ()).await;
        assert!(third.is_ok());
        drop((second, third));
    }
}
