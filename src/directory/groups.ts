import type { Connector } from './connection.ts';
import { dnKey } from './person.ts';

/** Entry of a group. */
export interface DirectoryGroup {
  readonly dn: string;
  readonly name: string;
  /** Distinguished names. Empty if only the names of groups were asked for. */
  readonly members: readonly string[];
  /** Security identifier of Active Directory in hexadecimal digits; '' elsewhere. */
  readonly sid: string;
}

/** Person as far as groups need it. */
interface Member {
  readonly dn: string;
  /** Security identifier of the primary group of Active Directory in hexadecimal digits; '' if unknown. */
  readonly primaryGroupSID: string;
}

/** Levels of groups in groups that are followed. */
const maxNesting = 10;

type GroupSettings = NonNullable<Connector['groups']>;

/** Groups of a directory, read to the end. */
export class DirectoryGroups {
  readonly #settings: GroupSettings | undefined;
  readonly #byMember = new Map<string, DirectoryGroup[]>();
  readonly #bySID = new Map<string, DirectoryGroup>();
  /** True if a group is a member of another group, and that is not followed. */
  readonly hasUnfollowed: boolean;

  constructor(groups: readonly DirectoryGroup[], settings: GroupSettings | undefined) {
    this.#settings = settings;
    for (const group of groups) {
      if (group.sid !== '') this.#bySID.set(group.sid, group);
      for (const member of group.members) {
        const key = dnKey(member);
        const known = this.#byMember.get(key);
        if (known === undefined) this.#byMember.set(key, [group]);
        else known.push(group);
      }
    }
    this.hasUnfollowed = settings?.nested === 'none' && groups.some((group) => this.#parents(group).length > 0);
  }

  /** Returns the primary group, if it is configured to count and is one of the groups. */
  primaryOf({ primaryGroupSID }: Member): DirectoryGroup | undefined {
    return this.#settings?.primary === true && primaryGroupSID !== '' ? this.#bySID.get(primaryGroupSID) : undefined;
  }

  /** Returns the groups of a person, with groups of groups if they are followed by walking. */
  async of(person: Member): Promise<DirectoryGroup[]> {
    const primary = this.primaryOf(person);
    const direct = [...this.#parents(person), ...(primary ? [primary] : [])];
    return this.#settings?.nested === 'walk' ? walkUp(direct, async (level) => level.flatMap((group) => this.#parents(group))) : direct;
  }

  #parents({ dn }: { dn: string }): readonly DirectoryGroup[] {
    return this.#byMember.get(dnKey(dn)) ?? [];
  }
}

/** Follows groups in groups upwards. Circles end, because each group is followed once. */
export async function walkUp(
  direct: readonly DirectoryGroup[],
  parentsOf: (level: readonly DirectoryGroup[]) => Promise<readonly DirectoryGroup[]>,
): Promise<DirectoryGroup[]> {
  const found = new Map<string, DirectoryGroup>();
  let level: readonly DirectoryGroup[] = direct;
  for (let depth = 0; depth <= maxNesting && level.length > 0; depth += 1) {
    const fresh = level.filter(({ dn }) => !found.has(dnKey(dn)));
    for (const group of fresh) found.set(dnKey(group.dn), group);
    level = fresh.length === 0 || depth === maxNesting ? [] : await parentsOf(fresh);
  }
  return [...found.values()];
}
