import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { z } from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import { valuesSchema } from '../../../scripts/chart/values.ts';
import { valueComments } from '../../../scripts/chart/values-comments.ts';
import { chartDirectory, defaultsFile, profilesFile, readmeFile, valuesSchemaFile } from '../../../scripts/chart/values-files.ts';

const read = (name: string) => readFileSync(new URL(name, chartDirectory), 'utf8');

const schemaNode = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  additionalProperties: z.unknown().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
});

/** Paths of objects in which a misspelt key would pass. */
function open(node: unknown, path: string): string[] {
  const { type, properties, additionalProperties, items, anyOf = [] } = schemaNode.parse(node);
  const isOpen = type === 'object' && properties !== undefined && additionalProperties !== false;
  return [
    ...(isOpen ? [path] : []),
    ...Object.entries(properties ?? {}).flatMap(([key, child]) => open(child, `${path}.${key}`)),
    ...(items === undefined ? [] : open(items, `${path}[]`)),
    ...anyOf.flatMap((child) => open(child, path)),
  ];
}

describe('the values of the chart', () => {
  it('are checked by a schema that is current (npm run chart)', () => {
    expect(read('values.schema.json')).to.equal(valuesSchemaFile());
  });

  it('stand beside the defaults of all settings, which are current (npm run chart)', () => {
    expect(read('files/defaults.yaml')).to.equal(defaultsFile());
  });

  it('stand beside the settings of the profiles, which are current (npm run chart)', () => {
    expect(read('files/profiles.yaml')).to.equal(profilesFile());
  });

  it('stand in a README that is current (npm run chart)', () => {
    expect(read('README.md')).to.equal(readmeFile());
  });

  it('have a comment each, which must be there', () => {
    expect(valueComments(read('values.yaml')).map(({ path }) => path[0])).to.include.members(Object.keys(parse(read('values.yaml'))));
    expect(() => valueComments('# said\na: 1\nb: 2\n')).to.throw('values.yaml: b has no comment');
    expect(() => valueComments('# said\na:\n  # said\n  b: 1\n  c: 2\n')).to.throw('values.yaml: a.c has no comment');
  });

  it('are all there, and pass their own schema', () => {
    const values = parse(read('values.yaml'));

    expect(valuesSchema.safeParse(values).error?.issues ?? []).to.deep.equal([]);
    expect(Object.keys(values)).to.have.members(Object.keys(valuesSchema.shape).filter((key) => key !== 'global'));
  });

  it('refuse a misspelt key, except in objects of Kubernetes', () => {
    const asInKubernetes = ['.extraVolumes[]', '.initContainers[]', '.extraContainers[]', '.extraObjects[]', '.auditStore.extraVolumes[]'];

    expect(open(JSON.parse(valuesSchemaFile()), '')).to.have.members(asInKubernetes);
  });

  it('are of a chart for this version of the service', () => {
    const { version, appVersion, kubeVersion } = parse(read('Chart.yaml'));

    expect({ version, appVersion }).to.deep.equal({ version: packageJson.version, appVersion: packageJson.version });
    expect(kubeVersion).to.equal('>=1.31.0-0');
  });
});
