import { FaultProxy } from '../cluster/faults/fault-proxy.ts';
import { type ServerOptions, startServer, type TestServer } from './server.ts';

export interface FaultyServer extends TestServer {
  /** Proxy between the service and the API server, which forwards all requests until a test injects a fault. */
  faults: FaultProxy;
}

/** @param prepare is called before the service starts */
export async function startFaultyServer(
  options: Omit<ServerOptions, 'between'> = {},
  prepare: (faults: FaultProxy) => void = () => {},
): Promise<FaultyServer> {
  const started = Promise.withResolvers<FaultProxy>();
  const server = await startServer({
    ...options,
    async between({ url, certificateAuthority, serving }) {
      const faults = await FaultProxy.start({ target: url, certificateAuthority, serving });
      prepare(faults);
      started.resolve(faults);
      return faults;
    },
  });
  return { ...server, faults: await started.promise };
}
