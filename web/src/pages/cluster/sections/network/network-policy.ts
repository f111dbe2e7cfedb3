/** A NetworkPolicy in sentences. Kubernetes API: networking.k8s.io/v1. */

import type { ClusterObject } from '../../../../api/object-types.ts';
import { selectorText } from '../selector.ts';

interface Peer {
  podSelector?: object;
  namespaceSelector?: object;
  ipBlock?: { cidr: string; except?: readonly string[] };
}

interface Port {
  protocol?: string;
  port?: number | string;
  endPort?: number;
}

interface Rule {
  ports?: readonly Port[] | null;
  from?: readonly Peer[] | null;
  to?: readonly Peer[] | null;
}

interface PolicySpec {
  podSelector?: object;
  policyTypes?: readonly string[];
  ingress?: readonly Rule[] | null;
  egress?: readonly Rule[] | null;
}

/** Translates a text by its key below `policy.`, and joins alternatives, both in the language of the page. */
export interface Speech {
  say: (key: string, values?: Readonly<Record<string, string>>) => string;
  or: (texts: readonly string[]) => string;
}

export interface PolicySentences {
  /** The pods that the policy applies to. */
  pods: string;
  ingress: readonly string[];
  egress: readonly string[];
}

const directions = { ingress: 'Ingress', egress: 'Egress' } as const;
type Direction = keyof typeof directions;

/** Describes a policy. Rules that this page does not know are named as such, and never read as "none" or "all". */
export function policySentences({ spec: given }: ClusterObject, speech: Speech): PolicySentences {
  const spec = (given ?? {}) as PolicySpec;
  const { say } = speech;
  const pods = podsOf(spec.podSelector ?? {}, say);
  // The API server fills the types in; a policy without them restricts incoming traffic.
  const types = spec.policyTypes ?? ['Ingress', ...(spec.egress?.length ? ['Egress'] : [])];
  const rules = (direction: Direction): readonly string[] => {
    if (!types.includes(directions[direction])) return [say(`${direction}Free`)];
    const allowed = spec[direction] ?? [];
    if (allowed.length === 0) return [say(`${direction}None`, { pods: capitalized(pods) })];
    return allowed.map((rule) => say(`${direction}Allow`, { pods: capitalized(pods), ...ends(rule, direction, speech) }));
  };
  return { pods, ingress: rules('ingress'), egress: rules('egress') };
}

const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

function ends(rule: Rule, direction: Direction, { say, or }: Speech): { peers: string; ports: string } {
  const peers = (direction === 'ingress' ? rule.from : rule.to) ?? [];
  const ports = rule.ports ?? [];
  return {
    peers: peers.length === 0 ? say('anywhere') : or(peers.map((peer) => peerText(peer, say))),
    ports: ports.length === 0 ? say('anyPort') : or(ports.map((port) => portText(port, say))),
  };
}

function podsOf(selector: object, say: Speech['say']): string {
  const labels = selectorText(selector);
  if (labels === undefined) return say('unknownPods');
  return labels === '' ? say('allPods') : say('pods', { labels });
}

function peerText({ podSelector, namespaceSelector, ipBlock }: Peer, say: Speech['say']): string {
  if (ipBlock) {
    const { cidr, except = [] } = ipBlock;
    return except.length === 0 ? say('addresses', { cidr }) : say('addressesBut', { cidr, except: except.join(', ') });
  }
  if (podSelector === undefined && namespaceSelector === undefined) return say('unknownPeer');
  const [pods, namespaces] = [selectorText(podSelector ?? {}), selectorText(namespaceSelector ?? {})];
  if (pods === undefined || namespaces === undefined) return say('unknownPeer');
  if (namespaceSelector === undefined) return pods === '' ? say('allPods') : say('podsHere', { pods });
  if (namespaces === '') return pods === '' ? say('allPodsAnywhere') : say('podsAnywhere', { pods });
  return pods === '' ? say('allPodsIn', { namespaces }) : say('podsIn', { pods, namespaces });
}

function portText({ protocol = 'TCP', port, endPort }: Port, say: Speech['say']): string {
  if (port === undefined) return say('protocol', { protocol });
  return endPort === undefined
    ? say('port', { protocol, port: String(port) })
    : say('portRange', { protocol, port: String(port), end: String(endPort) });
}
