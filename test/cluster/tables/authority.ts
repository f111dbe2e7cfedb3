import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { authorityProgram } from '../build.ts';

/** A question to the libraries of kubectl and kube-controller-manager. */
export type Question =
  | { about: 'schedule'; text: string; after: string; zone: string }
  | { about: 'age'; seconds: number }
  | { about: 'quantity'; text: string }
  | { about: 'rollout' | 'amounts'; object: unknown };

export interface AuthorityAnswer {
  value: string;
  done: boolean;
  /** Empty for a question that was answered. */
  error: string;
}

export async function askAuthority(questions: readonly Question[]): Promise<AuthorityAnswer[]> {
  const child = spawn(await authorityProgram(), { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  child.stdin.end(JSON.stringify(questions));
  const answers = await text(child.stdout);
  await ended;
  return JSON.parse(answers) as AuthorityAnswer[];
}
