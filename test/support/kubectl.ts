import { execFile } from 'node:child_process';
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

/** Runs the kubectl of this machine as the owner of that token. @throws Error if there is none */
export function kubectl(target: KubectlTarget, ...args: string[]): Promise<Ran> {
  return new Promise((resolve, reject) => {
    execFile('kubectl', [...kubectlArguments(target), '--request-timeout=20s', ...args], (error, stdout, stderr) => {
      if (error?.code === 'ENOENT') reject(new Error('kubectl is not in PATH; how to install it: https://kubernetes.io/docs/tasks/tools/'));
      else resolve({ isDone: error === null, stdout, stderr });
    });
  });
}
