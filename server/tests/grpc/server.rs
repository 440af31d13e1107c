//! A server of the machines' interface, and clients of it.

use std::sync::Arc;

use capsched_protocol as wire;
use capsched_server::daemon::ServeOptions;
use capsched_server::grpc::simulated::{Credentials, Server};
use capsched_server::grpc::{GrpcOptions, GrpcServing, Machines};
use capsched_server::rm::{Pairs, ResourceManager, Setup};
use capsched_server::security::Authentication;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;

use wire::applications_client::ApplicationsClient;
use wire::events_client::EventsClient;
use wire::nodes_client::NodesClient;

pub(crate) type Through = InterceptedService<Channel, Credentials>;

/// A server that runs until it is dropped.
pub(crate) struct Running {
    pub(crate) address: std::net::SocketAddr,
    scheme: &'static str,
    _stop: oneshot::Sender<()>,
}

/// How a test server listens: users by their bare names.
pub(crate) fn options() -> GrpcOptions {
    let mut options = ServeOptions::at("127.0.0.1:0".parse().unwrap());
    options.authentication = Authentication::none().with_bare_names();
    GrpcOptions::beside(&options, options.listen)
}

fn resource_manager(further: &[(&str, &str)]) -> ResourceManager {
    let pair =
        |(key, value): (&str, &str)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    let queues = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("root.a.maximum-capacity", "100"),
        ("root.a.acl_administer_queue", " "),
        ("root.acl_administer_queue", " "),
        ("maximum-am-resource-percent", "1"),
        ("root.a.user-limit-factor", "10"),
        ("root.b.user-limit-factor", "10"),
    ];
    let access = [("yarn.acl.enable", "true"), ("yarn.admin.acl", "yarn")];
    let site = access.iter().chain(further);
    let site = site.map(|&(key, value)| (key.to_owned(), value.to_owned()));
    let site = Pairs::from_iter(site);
    let setup = Setup::new(site, queues.into_iter().map(pair).collect());
    ResourceManager::start(setup).unwrap()
}

impl Running {
    pub(crate) async fn start() -> Self {
        Self::with(&options()).await
    }

    pub(crate) async fn with(options: &GrpcOptions) -> Self {
        Self::serve(options, &[])
    }

    /// With further settings of the site.
    pub(crate) async fn start_with(site: &[(&str, &str)]) -> Self {
        Self::serve(&options(), site)
    }

    fn serve(options: &GrpcOptions, site: &[(&str, &str)]) -> Self {
        let serving = GrpcServing::listen(options).unwrap();
        let address = serving.address();
        let machines = Machines::new(Arc::new(resource_manager(site)), options);
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(async move {
            let ends = async move {
                let _ = stopped.await;
            };
            serving.run(machines, ends).await.unwrap();
        });
        Self {
            address,
            scheme: if options.tls.is_some() {
                "https"
            } else {
                "http"
            },
            _stop: stop,
        }
    }

    pub(crate) fn address(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    pub(crate) async fn channel(&self) -> Channel {
        let server = Server::plain(self.address(), "");
        server
            .connect(std::time::Duration::from_secs(10))
            .await
            .unwrap()
    }

    fn credentials(user: &str) -> Credentials {
        Server::plain("", user).credentials().unwrap()
    }

    pub(crate) async fn nodes(&self, user: &str) -> NodesClient<Through> {
        NodesClient::with_interceptor(self.channel().await, Self::credentials(user))
    }

    pub(crate) async fn applications(&self, user: &str) -> ApplicationsClient<Through> {
        ApplicationsClient::with_interceptor(self.channel().await, Self::credentials(user))
    }

    pub(crate) async fn events(&self, user: &str) -> EventsClient<Through> {
        EventsClient::with_interceptor(self.channel().await, Self::credentials(user))
    }

    pub(crate) async fn heartbeats(
        &self,
        user: &str,
    ) -> (
        mpsc::Sender<wire::NodeHeartbeat>,
        Streaming<wire::NodeOrders>,
    ) {
        let (send, receive) = mpsc::channel(4);
        let mut client = self.nodes(user).await;
        let orders = client.heartbeats(ReceiverStream::new(receive)).await;
        (send, orders.unwrap().into_inner())
    }

    pub(crate) async fn allocate(
        &self,
        user: &str,
    ) -> (
        mpsc::Sender<wire::AllocateRequest>,
        Streaming<wire::AllocateReply>,
    ) {
        let (send, receive) = mpsc::channel(4);
        let mut client = self.applications(user).await;
        let answers = client.allocate(ReceiverStream::new(receive)).await;
        (send, answers.unwrap().into_inner())
    }

    pub(crate) async fn submit(
        &self,
        client: &mut ApplicationsClient<Through>,
        queue: &str,
    ) -> String {
        Self::submitted(client, with_master(queue)).await
    }

    /// An application of which containers outlive attempts.
    pub(crate) async fn submit_keeping(
        &self,
        client: &mut ApplicationsClient<Through>,
        queue: &str,
    ) -> String {
        let request = wire::SubmitRequest {
            keep_containers: true,
            ..with_master(queue)
        };
        Self::submitted(client, request).await
    }

    /// An application that runs its master itself.
    pub(crate) async fn submit_unmanaged(
        &self,
        client: &mut ApplicationsClient<Through>,
        queue: &str,
    ) -> String {
        let request = wire::SubmitRequest {
            queue: queue.to_owned(),
            unmanaged: true,
            ..wire::SubmitRequest::default()
        };
        Self::submitted(client, request).await
    }

    async fn submitted(
        client: &mut ApplicationsClient<Through>,
        request: wire::SubmitRequest,
    ) -> String {
        let id = client.new_id(wire::NewIdRequest {}).await.unwrap();
        let application = id.into_inner().application;
        let request = wire::SubmitRequest {
            application: application.clone(),
            ..request
        };
        client.submit(request).await.unwrap();
        application
    }
}

pub(crate) fn resource(amounts: &[i64]) -> Option<wire::Resource> {
    Some(wire::Resource {
        amounts: amounts.to_vec(),
    })
}

pub(crate) fn registration(node: &str) -> wire::RegisterNodeRequest {
    wire::RegisterNodeRequest {
        node: node.to_owned(),
        total: resource(&[8192, 8]),
        http_port: 8042,
        ..wire::RegisterNodeRequest::default()
    }
}

pub(crate) fn container_ask(count: u32) -> wire::ContainerAsk {
    wire::ContainerAsk {
        priority: 1,
        size: resource(&[1024, 1]),
        count,
        ..wire::ContainerAsk::default()
    }
}

/// An application with a master of 1 GiB.
fn with_master(queue: &str) -> wire::SubmitRequest {
    wire::SubmitRequest {
        queue: queue.to_owned(),
        master: resource(&[1024, 1]),
        ..wire::SubmitRequest::default()
    }
}
