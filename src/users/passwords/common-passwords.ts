/** Passwords that attackers try first, as the zxcvbn project collects them; read when the first password is set. */
let known: Promise<ReadonlySet<string>> | undefined;

/** Whether it is one of the 49,000 most common ones, in any case. */
export async function isCommonPassword(password: string): Promise<boolean> {
  known ??= import('@zxcvbn-ts/language-common').then(({ dictionary }) => new Set(dictionary['passwords-common']));
  return (await known).has(password.toLowerCase());
}
