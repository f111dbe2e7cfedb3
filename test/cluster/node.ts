import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClusterAdmin } from '../support/cluster-admin.ts';
import { nodeProgram } from './build.ts';
import type { KeyPair } from './certificates.ts';

const pods = '/api/v1/namespaces/default/pods';
const name = 'one-machine';

/** A node whose pods have logs, commands and ports, and no containers: everything happens on this machine. */
export interface TestNode {
  /** Adds a pod with a container `main`, which runs there according to the API server. */
  addPod(pod: string): Promise<void>;
  /** Appends to the log of all containers of a name. */
  log(container: string, text: string): Promise<void>;
  /** Working directory of commands. */
  directory: string;
  /** Kills the node, like a power failure. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export async function startNode(admin: ClusterAdmin, serving: KeyPair): Promise<TestNode> {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-node-'));
  const files = [join(directory, 'tls.crt'), join(directory, 'tls.key')] as const;
  await writeFile(files[0], serving.certificate);
  await writeFile(files[1], serving.key, { mode: 0o600 });
  await writeFile(join(directory, 'main.log'), '');
  const program = spawn(await nodeProgram(), [directory, ...files], { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(program, 'exit');
  const [port] = await once(program.stdout, 'data');
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: Number(port) } },
  };
  await admin.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name }, status });
  const kill = async () => {
    program.kill('SIGKILL');
    await ended;
  };
  return {
    directory,
    async addPod(pod) {
      const spec = { nodeName: name, containers: [{ name: 'main', image: 'none', stdin: true }] };
      await admin.apply({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: pod, namespace: 'default' },
        spec,
        status: {
          phase: 'Running',
          conditions: [{ type: 'Ready', status: 'True' }],
          containerStatuses: [
            { name: 'main', ready: true, restartCount: 0, image: 'none', imageID: 'none', state: { running: { startedAt: new Date() } } },
          ],
        },
      });
      const { status: code } = await admin.call('GET', `${pods}/${pod}`);
      if (code !== 200) throw new Error(`no pod: ${code}`);
    },
    log: (container, text) => appendFile(join(directory, `${container}.log`), text),
    kill,
    async stop() {
      await kill();
      await rm(directory, { recursive: true });
    },
  };
}
