import type { Change } from '../kubernetes/watch-cache.ts';
import type { UserBindingRow } from './row.ts';

/** What a UserBinding depends on. */
export type Reference = 'User' | 'Group' | 'ClusterRole' | 'namespace' | 'project';

const keyOf = (kind: Reference, name: string) => `${kind} ${name}`;

/** UserBindings by what they depend on. Kept by change, so that it costs nothing to find out that none depends on something. */
export class ReferenceIndex {
  readonly #names = new Map<string, Set<string>>();

  /** To be told of every change of the watched UserBindings. */
  record({ old, new: current }: Change<UserBindingRow>): void {
    for (const key of old ? keysOf(old) : []) {
      const names = this.#names.get(key);
      names?.delete(old?.name ?? '');
      if (names?.size === 0) this.#names.delete(key);
    }
    for (const key of current ? keysOf(current) : []) {
      const names = this.#names.get(key);
      if (names === undefined) this.#names.set(key, new Set([current?.name ?? '']));
      else names.add(current?.name ?? '');
    }
  }

  /** Names of the UserBindings that depend on it. */
  of(kind: Reference, name: string): ReadonlySet<string> {
    return this.#names.get(keyOf(kind, name)) ?? none;
  }
}

const none: ReadonlySet<string> = new Set();

const keysOf = ({ subjects, roleRef, namespaces, projects }: UserBindingRow): string[] => [
  ...subjects.map(({ kind, name }) => keyOf(kind, name)),
  keyOf('ClusterRole', roleRef),
  ...namespaces.map((name) => keyOf('namespace', name)),
  ...projects.map((name) => keyOf('project', name)),
];
