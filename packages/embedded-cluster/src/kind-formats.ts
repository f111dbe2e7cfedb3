/** Syntaxes that members of built-in kinds have, each with the problems of a text in the words of the API server. */
import { isIP } from 'node:net';
import { dnsLabelProblems, labelKeyProblems, labelValueProblems, subdomainProblems } from '@atrium/objects/labels.ts';

type Problems = (text: string) => string[];

/** Returns a syntax with one problem. */
const only =
  (isValid: (text: string) => boolean, problem: string): Problems =>
  (text) =>
    isValid(text) ? [] : [problem];

const address = only((text) => isIP(text) !== 0, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)');
const configKey = only(
  (text) => /^[-._a-zA-Z0-9]+$/.test(text),
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
);

function isNetwork(text: string): boolean {
  const [, base = '', bits = ''] = /^([^/]*)\/(\d{1,3})$/.exec(text) ?? [];
  const family = isIP(base);
  return family !== 0 && Number(bits) <= (family === 4 ? 32 : 128);
}

/** Reports whether the text is a domain with an inner dot, a slash and a path, such as `acme.io/foo`. */
function isDomainPath(text: string): boolean {
  const slash = text.indexOf('/');
  const dot = text.indexOf('.', 1);
  return dot > 0 && dot < slash - 1 && slash < text.length - 1;
}

function portNameProblems(text: string): string[] {
  const problems = text.length > 15 ? ['must be no more than 15 characters'] : [];
  if (!/^[-a-z0-9]+$/.test(text)) problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(text)) problems.push('must contain at least one letter (a-z)');
  if (text.includes('--')) problems.push('must not contain consecutive hyphens');
  if (text.startsWith('-') || text.endsWith('-')) problems.push('must not begin or end with a hyphen');
  return problems;
}

const podFields =
  /^(?:metadata\.(?:name|namespace|uid|labels|annotations|(?:labels|annotations)\['.+'\])|spec\.(?:nodeName|serviceAccountName|host)|status\.(?:phase|hostIPs?|podIPs?))$/;

/** Returns the syntax of names of resources: standard ones, and those with a domain. */
const resource =
  (standard: RegExp, ...refusals: readonly string[]): Problems =>
  (text) => {
    const problems = labelKeyProblems(text);
    return standard.test(text) || text.includes('/') ? problems : [...problems, ...refusals];
  };

const computed = 'cpu|memory|ephemeral-storage|hugepages-.+';
const counted =
  'pods|services|services\\.(?:nodeports|loadbalancers)|secrets|configmaps|replicationcontrollers|resourcequotas|persistentvolumeclaims';

export const formats: Readonly<Record<string, Problems>> = {
  ...{ address, configKey, label: dnsLabelProblems, subdomain: subdomainProblems, labelKey: labelKeyProblems },
  ...{ labelValue: labelValueProblems, portName: portNameProblems, lowerLabelKey: (text) => labelKeyProblems(text.toLowerCase()) },
  addressOrNone: (text) => (text === 'None' ? [] : address(text)),
  trimmed: only((text) => text.trim() === text, 'must not have leading or trailing whitespace'),
  noBackstep: only((text) => !text.split('/').includes('..'), "must not contain '..'"),
  network: only(isNetwork, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'),
  domainPath: only(isDomainPath, 'must be a domain-prefixed path (such as "acme.io/foo")'),
  podField: only((text) => podFields.test(text), 'error converting fieldPath: field label not supported'),
  host: (text) => {
    if (isIP(text) !== 0) return ['must be a DNS name, not an IP address'];
    return subdomainProblems(text.replace(/^\*\./, ''));
  },
  containerResource: resource(
    new RegExp(`^(?:${computed}|storage)$`),
    'must be a standard resource type or fully qualified',
    'must be a standard resource for containers',
  ),
  quotaResource: resource(
    new RegExp(`^(?:(?:requests\\.|limits\\.)?(?:${computed}|storage)|${counted}|.+\\.storageclass\\..+)$`),
    'must be a standard resource for quota',
  ),
};
