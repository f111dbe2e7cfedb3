/** Commands of kubectl that do what a button does. */

import { type Kind, kindId } from '../../api/kinds';
import type { Metadata } from '../../api/objects';

const plain = /^[\w./:=,@%+-]+$/;

/** Quotes a word for a POSIX shell. */
const quoted = (word: string): string => (plain.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

export const kubectl = (...words: readonly string[]): string => ['kubectl', ...words].map(quoted).join(' ');

/** Returns a command about one object: `kubectl scale deployments.apps/web -n shop --replicas=3`. */
export const kubectlFor = (
  verb: readonly string[],
  kind: Kind,
  { name, namespace }: Pick<Metadata, 'name' | 'namespace'>,
  ...options: readonly string[]
): string => kubectl(...verb, `${kindId(kind)}/${name}`, ...(namespace ? ['-n', namespace] : []), ...options);
