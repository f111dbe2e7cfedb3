import { Slices } from '../../kubernetes/slices.ts';

/** Passwords that attackers try first, collected by the zxcvbn project. Loaded when the first password is set. */
let known: Promise<ReadonlySet<string>> | undefined;

/** Reports whether the password is one of the 49,000 most common ones, in any case. */
export async function isCommonPassword(password: string): Promise<boolean> {
  known ??= readAll();
  return (await known).has(password.toLowerCase());
}

async function readAll(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  const slices = new Slices();
  const all = new Set<string>();
  for (const password of dictionary['passwords-common']) {
    const turn = slices.end();
    if (turn) await turn;
    all.add(password);
  }
  return all;
}
