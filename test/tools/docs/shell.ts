/** Runs the commands of a page in one session of a shell, as a reader pastes one block after the other. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Commands } from './page.ts';

export const shells = ['bash', 'zsh'] as const;
export type Shell = (typeof shells)[number];

/** Options that ignore the startup files of the machine's owner. */
const options = { bash: ['--noprofile', '--norc'], zsh: ['--no-rcs'] } as const;

export interface ShellContext {
  directory: string;
  environment: Record<string, string>;
}

export interface Ran {
  commands: Commands;
  output: string;
}

/**
 * Runs the blocks and returns the standard output of each.
 *
 * @throws Error that names the block at which a command failed
 */
export async function runCommands(
  shell: Shell,
  blocks: readonly Commands[],
  { directory, environment }: ShellContext,
  signal: AbortSignal,
): Promise<Ran[]> {
  // The process gets a group, so that background processes of the page end with it.
  const child = spawn(shell, [...options[shell], '-c', script(blocks)], {
    cwd: directory,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const endAll = () => {
    if (child.pid !== undefined) endGroup(child.pid);
  };
  signal.addEventListener('abort', endAll, { once: true });
  const outputs = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code]: (number | null)[] = await once(child, 'exit');
  endAll();
  const [stdout, stderr] = await outputs;
  const parts = stdout.split(separator).slice(1);
  const last = blocks[parts.length - 1];
  if (code !== 0)
    throw new Error(`line ${last?.line}: a command ended with ${code}\n${last?.text}\n--- it wrote\n${parts.at(-1)}\n${tail(stderr)}`);
  return blocks.map((commands, index) => ({ commands, output: parts[index] ?? '' }));
}

const separator = '\u001e--- block ---\n';
const mark = `printf '\\036--- block ---\\n'`;

const script = (blocks: readonly Commands[]) => ['set -eu', ...blocks.flatMap(({ text }) => [mark, `${mark} >&2`, text])].join('\n');

const tail = (stderr: string) => stderr.split(separator).at(-1)?.split('\n').slice(-20).join('\n') ?? '';

/** Kills the processes of a group, which may have ended. */
export function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Returns the differences between the output of a block and the page. */
export function differences({ commands: { shown }, output }: Ran): string[] {
  const isShownRefusal = shown.some((line) => /Failure|Error|Forbidden|not found/.test(line));
  if (/"status": ?"Failure"/.test(output) && !isShownRefusal)
    return [`it was refused, and the page does not show that: ${output.slice(0, 400)}`];
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const wanted = shown.filter((line) => line.trim() !== '');
  const [first = '', ...others] = wanted;
  if (wanted.length > 0 && !isShownAs(lines[0] ?? '', first)) return [`the page shows "${first}" first, it wrote "${lines[0] ?? ''}"`];
  // The other lines must appear in this order, with any lines in between.
  let from = 1;
  return others.flatMap((line) => {
    const at = lines.findIndex((written, index) => index >= from && isShownAs(written, line));
    if (at < 0) return [`the page shows "${line}", it wrote\n${output.slice(0, 2000)}`];
    from = at + 1;
    return [];
  });
}

/** Compares lines. `…` matches any text, and columns may have any width. */
const isShownAs = (written: string, shown: string): boolean => {
  const parts = shown
    .trim()
    .split('…')
    .map((part) => part.split(/\s+/).map(escaped).join('\\s+'));
  return new RegExp(`^\\s*${parts.join('.*')}\\s*$`).test(written);
};

const escaped = (word: string) => word.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
