import type { Config } from '../config/schema.ts';

/**
 * The user name that Kubernetes will see of a local user, as the log-in at the embedded issuer will tell it.
 *
 * @param email e-mail address or plain login string
 * @returns undefined where another claim names users: then only the log-in knows
 */
export function localSubjectName(email: string, { username, usernamePrefix = '-' }: Config['login']['claims']): string | undefined {
  if (username !== 'email') return undefined;
  return (usernamePrefix === '-' ? '' : usernamePrefix) + email;
}
