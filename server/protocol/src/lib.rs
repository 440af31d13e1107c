//! The protocol between the server, node agents and application masters, as `proto/capsched.proto` has it.
//!
//! This package is outside of the workspace: its code is generated, and it is built where gRPC is asked for.

tonic::include_proto!("capsched.v1");
