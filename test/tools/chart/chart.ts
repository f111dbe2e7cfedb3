import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { cp, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseAllDocuments, parse as parseYaml } from 'yaml';
import { helmProgram } from '../../cluster/build.ts';
import type { Manifest } from '../../support/cluster-admin.ts';

const run = promisify(execFile);

export const chart = fileURLToPath(new URL('../../../deploy/helm/atrium', import.meta.url));
export const namespace = 'atrium-system';

/** Runs Helm. @returns standard output; @throws Error with standard error */
export async function helm(...args: string[]): Promise<string> {
  const { stdout } = await run(await helmProgram(), args, {
    maxBuffer: 16 * 1024 * 1024,
    env: { PATH: process.env.PATH, HOME: '/nonexistent' },
  });
  return stdout;
}

/** Values as in a values file, passed to Helm as JSON. */
export type Values = Record<string, unknown>;

const settings = (values: Values) => Object.entries(values).map(([key, value]) => `--set-json=${key}=${JSON.stringify(value)}`);

export interface ReleaseName {
  name: string;
  namespace: string;
}

/** The address that every installation needs, unless the values have one. */
const withAddress = (values: Values): Values =>
  JSON.stringify(values).includes('publicURL') ? values : { ...values, 'config.server.publicURL': publicURL };

const publicURL = 'https://console.example.com';

/** Renders all templates for a release. */
export const renderRelease = (release: ReleaseName, values: Values, ...options: string[]): Promise<string> =>
  helm(
    'template',
    release.name,
    chart,
    `--namespace=${release.namespace}`,
    '--kube-version=1.36.0',
    ...settings(withAddress(values)),
    ...options,
  );

/** Returns a copy of the chart with its notes as an object, because Helm prints notes for its own version of Kubernetes only. */
async function chartWithNotes(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-notes-'));
  process.once('exit', () => rmSync(directory, { recursive: true }));
  await cp(chart, join(directory, 'atrium'), { recursive: true });
  const template = 'text: {{ include (print $.Template.BasePath "/NOTES.txt") . | toJson }}\n';
  await writeFile(join(directory, 'atrium/templates/notes.yaml'), template);
  return join(directory, 'atrium');
}

let noted: Promise<string> | undefined;

/** Renders the notes that Helm prints at an installation. */
export async function notes(values: Values, kubeVersion = '1.36.0'): Promise<string> {
  noted ??= chartWithNotes();
  const options = [`--namespace=${namespace}`, `--kube-version=${kubeVersion}`, '--show-only=templates/notes.yaml'];
  return parseYaml(await helm('template', 'atrium', await noted, ...options, ...settings(withAddress(values)))).text;
}

/** Renders all templates for a release `atrium` in `atrium-system`. */
export const renderText = (values: Values = {}, ...options: string[]): Promise<string> =>
  renderRelease({ name: 'atrium', namespace }, values, ...options);

/** Renders the templates and parses the objects. */
export async function render(values: Values = {}, ...options: string[]): Promise<Manifest[]> {
  return objectsOf(await renderText(values, ...options));
}

/** Objects by the text of their document. Most of a render are definitions, which are the same in all. */
const parsed = new Map<string, readonly Manifest[]>();

export const objectsOf = (text: string): Manifest[] =>
  text.split(/^---$/m).flatMap((document) => {
    const objects = parsed.get(document) ?? parse(document);
    parsed.set(document, objects);
    return structuredClone(objects);
  });

const parse = (text: string): Manifest[] =>
  parseAllDocuments(text).flatMap((document): Manifest[] => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.contents === null ? [] : [document.toJS()];
  });

/** Returns the reason for which Helm refuses values. */
export async function refusal(values: Values): Promise<string> {
  try {
    await renderText(values);
  } catch (error) {
    return String(error);
  }
  throw new Error('not refused');
}

/** Returns the object of a kind and name. @throws Error unless exactly one exists */
export const one = (objects: readonly Manifest[], kind: string, name = 'atrium'): Manifest => {
  const found = objects.filter((object) => object.kind === kind && object.metadata.name === name);
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} objects ${kind} ${name}`);
  return found[0];
};

export const identitiesOf = (objects: readonly Manifest[]) =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''} ${metadata.name}`);
