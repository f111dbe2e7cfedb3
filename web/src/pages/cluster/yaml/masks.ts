/** The values of a Secret are hidden until they are asked for, in its text and while it is edited. */

export const mask = '••••••••';

const applied = 'kubectl.kubernetes.io/last-applied-configuration';

type Members = Readonly<Record<string, unknown>>;

interface Masked {
  metadata: { annotations?: Record<string, string> };
  data?: unknown;
  stringData?: unknown;
}

const membersOf = (value: unknown): Members => (typeof value === 'object' && value !== null ? (value as Members) : {});

const mapped = (members: Members, of: (key: string, value: unknown) => unknown) =>
  Object.fromEntries(Object.entries(members).map(([key, value]) => [key, of(key, value)]));

/** Puts `of` in the place of each value of a Secret, also of those that kubectl keeps in an annotation. */
function withValues<T extends object>(object: T & Masked, of: (member: keyof Masked, key: string, value: unknown) => unknown): T {
  const { annotations } = object.metadata;
  const kept = annotations?.[applied];
  const metadata = { ...object.metadata, annotations: { ...annotations, [applied]: of('metadata', applied, kept) } };
  return {
    ...object,
    ...(kept !== undefined && { metadata }),
    ...('data' in object && { data: mapped(membersOf(object.data), (key, value) => of('data', key, value)) }),
  };
}

const valuesOf = ({ metadata, data }: Masked): Readonly<Record<keyof Masked, Members>> => ({
  metadata: membersOf(metadata.annotations),
  data: membersOf(data),
  stringData: {},
});

/** @param base shows values that differ from its own, as `changed` makes them; without it none is shown */
export function masked<T extends object>(object: T & Masked, base?: Masked, changed = (value: unknown): unknown => value): T {
  const known = base && valuesOf(base);
  return withValues(object, (member, key, value) => (known === undefined || known[member][key] === value ? mask : changed(value)));
}

/** A mask that stands for no value of the object as it was read. */
export class LoneMask extends Error {
  readonly key: string;

  constructor(key: string) {
    super(`${key} has no value to keep`);
    this.key = key;
  }
}

/** Puts the values of `base` back where the text still has masks. @throws LoneMask */
export function unmasked<T extends object>(object: T & Masked, base: Masked): T {
  const known = valuesOf(base);
  for (const [key, value] of Object.entries(membersOf(object.stringData))) if (value === mask) throw new LoneMask(key);
  return withValues(object, (member, key, value) => {
    if (value !== mask) return value;
    const kept = known[member][key];
    if (kept === undefined) throw new LoneMask(key);
    return kept;
  });
}
