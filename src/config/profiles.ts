/** Profiles: defaults for several features at once. Settings of the configuration override them. */
type Tree = Record<string, unknown>;

export const profileNames = ['team', 'minimal'] as const;
export type ProfileName = (typeof profileNames)[number];

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A client certificate cannot be revoked: no profile enables them. */
const users = { certificates: { enabled: false } };

/** Settings of each profile in their written form. */
export const profiles: Readonly<Record<ProfileName, Tree>> = {
  team: { lists: { preset: 'workloads' }, features: { userBindings: true, accessTokens: true, accessRequests: true }, users },
  minimal: { lists: { preset: 'none' }, features: { userBindings: false, accessTokens: false, accessRequests: false }, users },
};

/** A setting of the profile: its path, and the value that the configuration sets in its place. */
export interface ProfileSetting {
  readonly path: string;
  readonly value: unknown;
  /** Undefined if the configuration does not set it. */
  readonly override: unknown;
}

const isProfileName = (value: unknown): value is ProfileName => profileNames.some((name) => name === value);

/** Returns the settings with those of their profile below them. */
export const withProfile = (tree: Tree): Tree => (isProfileName(tree.profile) ? merge(profiles[tree.profile], tree) : tree);

/** Returns the settings of the profile that a configuration names; empty without a profile. */
export const profileSettings = (tree: Tree): ProfileSetting[] =>
  isProfileName(tree.profile) ? leaves(profiles[tree.profile], tree, '') : [];

function leaves(profile: Tree, over: unknown, path: string): ProfileSetting[] {
  return Object.entries(profile).flatMap(([key, value]) => {
    const at = path === '' ? key : `${path}.${key}`;
    const override = isTree(over) ? over[key] : undefined;
    return isTree(value) ? leaves(value, override, at) : [{ path: at, value, override }];
  });
}

/** Merges two mappings. Members of the second override those of the first. */
export function merge(base: Tree, over: Tree): Tree {
  const result: Tree = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = result[key];
    result[key] = isTree(below) && isTree(value) ? merge(below, value) : value;
  }
  return result;
}
