import type { Change } from '../watch/watch-cache.ts';
import type { UserBindingRow } from './row.ts';

/** Kinds of objects that a UserBinding depends on. */
export type Reference = 'User' | 'Group' | 'ClusterRole' | 'namespace' | 'project';

const keyOf = (kind: Reference, name: string) => `${kind} ${name}`;

/** Index of UserBindings by their dependencies. Changes update it, so that a lookup without a result costs nothing. */
export class DependencyIndex {
  readonly #names = new Map<string, Set<string>>();

  /** Records a change. The caller passes every change of the watched UserBindings. */
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

  /** Returns the names of the UserBindings that depend on the object. */
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
