/** Ephemeral containers for debugging, as `kubectl debug` makes them. */
import type { ClusterObject } from '../../../api/object-types.ts';
import { randomSuffix } from '../../../api/random-suffix.ts';

/** Profiles of kubectl by the security context that they give the container. */
const securityContexts = {
  baseline: undefined,
  general: { capabilities: { add: ['SYS_PTRACE'] } },
  restricted: {
    runAsNonRoot: true,
    capabilities: { drop: ['ALL'] },
    allowPrivilegeEscalation: false,
    seccompProfile: { type: 'RuntimeDefault' },
  },
} as const;

export type Profile = keyof typeof securityContexts;
export const profiles = Object.keys(securityContexts) as readonly Profile[];

export interface DebugContainer {
  name: string;
  image: string;
  /** The container whose processes are seen; empty for none. */
  target: string;
  profile: Profile;
}

/** Returns the strategic merge patch that adds the container. */
export function debugPatch({ name, image, target, profile }: DebugContainer): object {
  const securityContext = securityContexts[profile];
  const container = {
    ...{ name, image, stdin: true, tty: true },
    ...(target && { targetContainerName: target }),
    ...(securityContext && { securityContext }),
  };
  return { spec: { ephemeralContainers: [container] } };
}

/** Returns a name that kubectl would make, too: a container can neither be removed nor added twice. */
export const debugName = (): string => `debugger-${randomSuffix()}`;

/** Returns whether the process of a container is a terminal, which is attached to. A shell of its own would be a second one. */
export function isTerminal({ spec }: ClusterObject, name: string | undefined): boolean {
  const list = Array.isArray(spec?.ephemeralContainers) ? (spec.ephemeralContainers as readonly Record<string, unknown>[]) : [];
  return list.some((one) => one.name === name && one.stdin === true && one.tty === true);
}
