import type { Bearer, Identity } from '../http/operation.ts';

/** Tells callers apart. The name, where it is known: many tokens of one person are one caller. */
export function callerKey(caller: Bearer & { identity?: Identity }): string {
  const { name } = caller.identity ?? caller.actAs ?? {};
  return name === undefined ? `token ${caller.hash}` : `name ${name}`;
}
