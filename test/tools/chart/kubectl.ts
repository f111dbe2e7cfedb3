import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** Runs kubectl. @returns standard output; @throws Error with standard error */
export type Kubectl = (args: readonly string[], input?: string) => Promise<string>;

/** Returns a kubectl with a kubeconfig, as its admin or as another of its users. */
export const kubectlFor =
  (kubeconfig: string, user?: string): Kubectl =>
  async (args, input = '') => {
    const who = [`--kubeconfig=${kubeconfig}`, ...(user === undefined ? [] : [`--context=${user}`])];
    const process = spawn('kubectl', [...who, '--request-timeout=20s', ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
    process.stdin.end(input);
    const [stdout, stderr, [code]] = await Promise.all([text(process.stdout), text(process.stderr), once(process, 'close')]);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  };

/** Returns the error of a refused command. */
export const refusalOf = (answer: Promise<string>): Promise<string> =>
  answer.then(
    (output) => {
      throw new Error(`not refused: ${output}`);
    },
    (error: unknown) => String(error),
  );
