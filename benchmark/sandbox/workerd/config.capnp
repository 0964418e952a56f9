# workerd with one worker that has a worker loader. The benchmark names the address of the socket (workerd.ts).
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [ (name = "loader", worker = .loader) ],
  sockets = [ (name = "http", address = "127.0.0.1:0", http = (), service = "loader") ]
);

const loader :Workerd.Worker = (
  modules = [ (name = "loader.js", esModule = embed "loader.js") ],
  compatibilityDate = "2026-01-01",
  bindings = [ (name = "LOADER", workerLoader = ()) ]
);
