import type { PolicyAddition } from '../plugins/policy-sources.ts';

const directiveNames: ReadonlyMap<string, string> = new Map([
  ['DefaultSrc', 'default-src'],
  ['ScriptSrc', 'script-src'],
  ['StyleSrc', 'style-src'],
  ['ImgSrc', 'img-src'],
  ['FontSrc', 'font-src'],
  ['ConnectSrc', 'connect-src'],
]);

/** Bound of the policy: proxies commonly accept 8 KiB of headers. */
const maxLength = 6 * 1024;

interface MergedPolicy {
  text: string;
  /** Number of additions that exceed the bound. */
  leftOut: number;
}

/**
 * Merges the additions into the policy. Sources are used unchanged, because the caller has already removed refused ones.
 *
 * A new directive starts with the sources of `default-src`, which would otherwise no longer apply (CSP 3, 6.8.3).
 */
export function mergePolicy(policy: string, additions: readonly PolicyAddition[]): MergedPolicy {
  if (additions.length === 0) return { text: policy, leftOut: 0 };
  let room = maxLength - policy.length;
  let leftOut = 0;
  const directives = new Map<string, string[]>();
  for (const part of policy.split(';')) {
    const [name, ...sources] = part.trim().split(/\s+/);
    if (name && !directives.has(name.toLowerCase())) directives.set(name.toLowerCase(), sources);
  }
  // Additions to `default-src` come first, so that new directives start with all of its sources.
  for (const { directive, values: sources } of [...additions.filter(isDefault), ...additions.filter((addition) => !isDefault(addition))]) {
    const name = directiveNames.get(directive);
    if (name === undefined || sources.length === 0) continue;
    const present = directives.get(name) ?? directives.get('default-src') ?? [];
    const merged = [...new Set([...present.filter((source) => source !== "'none'"), ...sources])];
    const growth = [name, ...merged].join(' ').length - (directives.get(name)?.join(' ').length ?? 0);
    if (growth > room) leftOut += 1;
    else {
      room -= growth;
      directives.set(name, merged);
    }
  }
  return { text: [...directives].map((directive) => directive.flat().join(' ')).join('; '), leftOut };
}

const isDefault = ({ directive }: PolicyAddition) => directive === 'DefaultSrc';
