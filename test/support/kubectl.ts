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

/** Arguments of every kubectl command. */
export const kubectlArguments = ({ url, caFile, token }: KubectlTarget): string[] => [
  '--kubeconfig=/dev/null',
  `--server=${url}`,
  `--certificate-authority=${caFile}`,
  `--token=${token}`,
  `--cache-dir=${join(dirname(caFile), 'kubectl')}`,
];

/** A kubectl command that runs until it is ended. */
export interface Following {
  /** Returns the output so far. */
  text(): string;
  end(): Promise<void>;
}

/** Starts a kubectl command that does not end by itself, such as one with `--watch`. */
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

/** Runs the kubectl of this machine with the token of the target. @throws Error if kubectl is not installed */
export function kubectl(target: KubectlTarget, ...args: string[]): Promise<Ran> {
  return new Promise((resolve, reject) => {
    execFile('kubectl', [...kubectlArguments(target), '--request-timeout=20s', ...args], (error, stdout, stderr) => {
      if (error?.code === 'ENOENT') reject(new Error('kubectl is not in PATH; how to install it: https://kubernetes.io/docs/tasks/tools/'));
      else resolve({ isDone: error === null, stdout, stderr });
    });
  });
}
