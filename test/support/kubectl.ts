import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';

export interface KubectlTarget {
  url: string;
  /** Path of the PEM bundle that verifies it; kubectl keeps its cache beside it. */
  caFile: string;
  token: string;
}

export interface Ran {
  isDone: boolean;
  stdout: string;
  stderr: string;
}

/** What every kubectl is told. */
export const kubectlArguments = ({ url, caFile, token }: KubectlTarget): string[] => [
  '--kubeconfig=/dev/null',
  `--server=${url}`,
  `--certificate-authority=${caFile}`,
  `--token=${token}`,
  `--cache-dir=${join(dirname(caFile), 'kubectl')}`,
];

/** A kubectl that goes on until it is ended. */
export interface Following {
  /** What it has written so far. */
  text(): string;
  end(): Promise<void>;
}

/** Begins a kubectl that goes on by itself, such as one with `--watch`. */
export function follow(target: KubectlTarget, ...args: string[]): Following {
  const child = spawn('kubectl', [...kubectlArguments(target), ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  return {
    text: () => text,
    async end() {
      child.kill();
      await ended;
    },
  };
}

/** Runs the kubectl of this machine as the owner of that token. @throws Error if there is none */
export function kubectl(target: KubectlTarget, ...args: string[]): Promise<Ran> {
  return new Promise((resolve, reject) => {
    execFile('kubectl', [...kubectlArguments(target), '--request-timeout=20s', ...args], (error, stdout, stderr) => {
      if (error?.code === 'ENOENT') reject(new Error('kubectl is not in PATH; how to install it: https://kubernetes.io/docs/tasks/tools/'));
      else resolve({ isDone: error === null, stdout, stderr });
    });
  });
}
