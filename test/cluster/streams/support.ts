import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { grant } from '../../support/grants.ts';
import type { KubectlTarget } from '../../support/kubectl.ts';
import { type ServerOptions, startServer, type TestServer } from '../../support/server.ts';
import { loopbackCertificates } from '../certificates.ts';
import { startNode, type TestNode } from '../node.ts';

export interface StreamSuite {
  server: TestServer;
  node: TestNode;
  /** Kubernetes API through the service. */
  target: KubectlTarget;
  /** Address of the service. */
  url: string;
  certificateAuthority: string;
  stop(): Promise<void>;
}

/**
 * Starts the service over https, below a base path, in front of a real API server with a node and the pod `shell`. The manager has all
 * rights.
 */
export async function startStreams(
  config: Record<string, unknown> = {},
  options: Pick<ServerOptions, 'auditStore'> = {},
): Promise<StreamSuite> {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-streams-'));
  const file = async (name: string, text: string) => {
    await writeFile(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  const { authority, serving } = await loopbackCertificates();
  const tls = { certFile: await file('tls.crt', serving.certificate), keyFile: await file('tls.key', serving.key) };
  const port = await freePort();
  const url = `https://127.0.0.1:${port}/console`;
  const server = await startServer({ ...options, config: { ...config, server: { port, publicURL: url, tls } } });
  const node = await startNode(server.kubernetes, serving);
  await node.addPod('shell');
  await grant(server.kubernetes, 'manager', 'cluster-admin');
  await grant(server.kubernetes, 'viewer', 'view');
  const target = {
    url: `${url}/api/kubernetes`,
    caFile: await file('ca.crt', authority.certificate),
    token: await server.token('manager'),
  };
  return {
    server,
    node,
    target,
    url,
    certificateAuthority: authority.certificate,
    async stop() {
      await node.stop();
      await server.stop();
      await rm(directory, { recursive: true });
    },
  };
}
