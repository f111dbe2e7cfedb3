import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { z } from 'zod';
import { valuesSchema } from '../../../scripts/chart/values.ts';
import { chartDirectory } from '../../../scripts/chart/values-files.ts';
import { cronSchedule, optionalEmailAddress, searchFilter } from '../../../src/config/formats.ts';
import { ConfigError, type Problem, parseConfig } from '../../../src/config/load.ts';
import { wrongFilters, wrongMembers, wrongSettings, wrongValues } from './wrong-values.ts';

type Tree = Record<string, unknown>;

/** Returns a mapping with values at paths. */
function treeOf(values: Readonly<Record<string, unknown>>, base: Tree = {}): Tree {
  const tree = structuredClone(base);
  for (const [path, value] of Object.entries(values)) {
    const keys = path.split('.');
    const parent = keys.slice(0, -1).reduce<Tree>((at, key) => {
      at[key] ??= {};
      return at[key] as Tree;
    }, tree);
    parent[keys.at(-1) ?? ''] = value;
  }
  return tree;
}

const pick = (table: Readonly<Record<string, readonly unknown[]>>, round: number) =>
  Object.fromEntries(Object.entries(table).map(([path, values]) => [path, values[round]]));

function problemsOf(settings: Tree): readonly Problem[] {
  try {
    parseConfig({ yaml: JSON.stringify(settings) });
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

const refusedBy = (settings: Tree): string[] => problemsOf(settings).map(({ path }) => path);

const isBelow = (path: string) => (problem: string) => problem === path || problem.startsWith(`${path}[`) || problem.startsWith(`${path}.`);

/** Texts without a format: names in other systems, file names, words for people, expressions that only the service reads. */
const free =
  /\.(value|name|displayName|title|key|clientID|audiences\[\]|username|usernamePrefix|groups|groupsPrefix|extClaims\[\]|group|id|bindDN|\w*File|kubeconfig|directory|assetsHostPath|envsFilter|jsonPath|subject|clusterRoles\[\]|users\[\]|groups\[\]|prefix|kind|apiVersion|sectionName)$|^\.(config\.console\.envs\.\*|topologySpread|tolerations|podSecurityContext|securityContext|(?:auditStore\.)?extraVolumeMounts|extraEnv|metrics\.serviceMonitor\.(relabelings|metricRelabelings))|[aA]nnotations\.\*$|alertLabels\.\*$|^\.dnsConfig\.options/;

const node = z.looseObject({
  type: z.unknown().optional(),
  if: z.object({ pattern: z.string() }).optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  allOf: z.array(z.unknown()).optional(),
  anyOf: z.array(z.unknown()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
  additionalProperties: z.unknown().optional(),
});

/** Paths of texts that a schema accepts whatever they are. */
function unbounded(schema: unknown, path: string): string[] {
  const {
    type,
    if: format,
    enum: values,
    const: value,
    allOf,
    anyOf = [],
    properties = {},
    items,
    additionalProperties,
  } = node.parse(schema);
  const isOpen = type === 'string' && format === undefined && values === undefined && value === undefined && allOf === undefined;
  return [
    ...(isOpen ? [path] : []),
    ...Object.entries(properties).flatMap(([key, child]) => unbounded(child, `${path}.${key}`)),
    ...(items === undefined ? [] : unbounded(items, `${path}[]`)),
    ...anyOf.flatMap((child) => unbounded(child, path)),
    ...(typeof additionalProperties === 'object' ? unbounded(additionalProperties, `${path}.*`) : []),
  ];
}

describe('the formats of settings and values', () => {
  for (const round of [0, 1, 2]) {
    for (const table of [wrongSettings, wrongMembers, wrongFilters])
      it(`refuse ${Object.keys(table).length} wrong settings at their paths, round ${round + 1}`, () => {
        const wrong = pick(table, round);
        const refused = refusedBy(treeOf(wrong));

        expect(Object.keys(wrong).filter((path) => !refused.some(isBelow(path)))).to.deep.equal([]);
      });

    it(`tell a wrong setting the form that it must have, round ${round + 1}`, () => {
      const messages = [wrongSettings, wrongMembers, wrongFilters].flatMap((table) => problemsOf(treeOf(pick(table, round))));

      expect(messages.filter(({ message }) => /pattern|^Invalid (?!input|option)|[\\^]/.test(message))).to.deep.equal([]);
    });

    it(`refuse wrong values of the chart at their paths, round ${round + 1}`, () => {
      const wrong = pick(wrongValues, round);
      const values = treeOf(wrong, parse(readFileSync(new URL('values.yaml', chartDirectory), 'utf8')));
      const refused = valuesSchema.safeParse(values).error?.issues.map(({ path }) => path.join('.')) ?? [];

      expect(Object.keys(wrong).filter((path) => !refused.some(isBelow(path)))).to.deep.equal([]);
    });
  }

  it('are declared for every text, except where any text is valid', () => {
    const schema = JSON.parse(readFileSync(new URL('values.schema.json', chartDirectory), 'utf8'));

    expect(unbounded(schema, '').filter((path) => !free.test(path))).to.deep.equal([]);
  });

  it('are refused by the chart in words: Helm prints a pattern as it is', () => {
    const schema = readFileSync(new URL('values.schema.json', chartDirectory), 'utf8').replaceAll(/\s+/g, ' ');

    expect(schema.match(/.{40}"pattern": /g)?.filter((place) => !/"if": \{ "pattern": $/.test(place))).to.deep.equal([]);
  });

  it('need no lookahead, which Helm does not have', () => {
    expect(readFileSync(new URL('values.schema.json', chartDirectory), 'utf8')).not.to.match(/\(\?[=!<]/);
  });

  it('repeat nothing more than 1,000 times, which Helm refuses', () => {
    const times = (repeat = '') => Math.max(...(repeat.match(/\d+/g) ?? ['1']).map(Number));
    const isRefused = (pattern: string) =>
      [...pattern.matchAll(/\{(\d*,?\d*)\}/g)].some(([, repeat]) => times(repeat) > 1_000) ||
      [...pattern.matchAll(/\([^()]*\{(\d*,?\d*)\}[^()]*\)\{(\d*,?\d*)\}/g)].some(
        ([, inner, outer]) => times(inner) * times(outer) > 1_000,
      );
    expect(['^(?:a{1,40}){0,32}$', '^a{0,1024}$', '^a{2,32}$'].map(isRefused)).to.deep.equal([true, true, false]);
    const schema = readFileSync(new URL('values.schema.json', chartDirectory), 'utf8');
    const patterns = [...schema.matchAll(/"pattern": ("(?:[^"\\]|\\.)*")/g)].map(([, text = '""']) => z.string().parse(JSON.parse(text)));
    expect(patterns.length).to.be.greaterThan(50);
    expect(patterns.filter(isRefused)).to.deep.equal([]);
  });

  it('accept the forms that administrators write', () => {
    for (const text of ['*/5 * * * *', '0 3 * * MON-fri', '@daily', '0,30 0-6/2 1 jan *', '0 0 29 2 0'])
      expect(cronSchedule().safeParse(text).success, text).to.equal(true);
    for (const text of ['', 'ada@example.com', "o'neil+x@mail.example.co.uk"])
      expect(optionalEmailAddress().safeParse(text).success, text).to.equal(true);
    for (const text of ['(objectClass=person)', '(&(objectClass=user)(!(a=b)))', 'objectClass=person', '(|(a=*)(b=c*))'])
      expect(searchFilter().safeParse(text).success, text).to.equal(true);
    const server = {
      host: '::1',
      publicURL: 'https://console.example.com:8443/console/',
      trustedProxies: ['10.0.0.0/8', 'fd00::/64', '::ffff:10.0.0.1', '2001:db8::1'],
      corsOrigins: ['http://localhost:5173'],
    };
    const smtp = { host: '192.0.2.1', from: 'Atrium <no-reply@example.com>' };
    const ldap = [
      {
        id: 'ad',
        name: 'AD',
        url: 'ldap://[::1]:389',
        baseDN: 'OU=People, DC=example',
        bindDN: 'reader@example.com',
        bindPasswordFile: '/a',
      },
    ];

    expect(refusedBy({ server, smtp, users: { ldap }, console: { apiAddress: '' } })).to.deep.equal([]);
    expect(refusedBy({ server: { host: 'localhost' }, console: { apiAddress: '/console' } })).to.deep.equal([]);
  });
});
