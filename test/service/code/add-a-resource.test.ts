/** The worked example of docs/add-a-resource.md, followed word by word in a copy of the repository. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parse, parseAllDocuments } from 'yaml';

const run = promisify(execFile);
const page = readFileSync('docs/add-a-resource.md', 'utf8');

interface Step {
  path: string;
  /** Place of added lines: a whole line of the file, without its indentation. Undefined for a new file. */
  place?: { side: string; line: string };
  text: string;
}

/** Sentences of the page that introduce a block: "Create `path`:" and "Add to `path`, below `line`:". */
const step = /^(?:Create|Add to) `([^`]+)`(?:,\s(above|below)\s(`+)((?:(?!\n\n).)+?)\3)?:\n\n```\w+\n(.*?)^```$/gms;

const steps: Step[] = [...page.matchAll(step)].map(([, path = '', side, , line = '', text = '']) => ({
  path,
  ...(side !== undefined && { place: { side, line: line.replaceAll(/\s+/g, ' ') } }),
  text,
}));

function follow({ path, place, text }: Step, root: string): void {
  const file = join(root, path);
  if (place === undefined) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { flag: 'wx' });
    return;
  }
  const lines = readFileSync(file, 'utf8').split('\n');
  const found = lines.findIndex((line) => line.trim() === place.line);
  if (found === -1) throw new Error(`${path} has no line ${place.line}: mend docs/add-a-resource.md`);
  lines.splice(place.side === 'above' ? found : found + 1, 0, ...text.trimEnd().split('\n'));
  writeFileSync(file, lines.join('\n'));
}

/** Settings of mocha without the setup of the repository, which builds the console. */
const mochaSettings = { timeout: 60_000, exit: true, 'forbid-only': true, 'forbid-pending': true, extension: ['test.ts'] };

/** The zod schemas of the service know `examples` from the package that writes the OpenAPI document. */
const typesOfRoom = { extends: './tsconfig.json', include: ['src/announcements', 'packages/http/src/openapi'], exclude: [] };

/** Copies the files that the commands read. Libraries are links, packages of the repository are copies. */
function copyRepository(root: string): void {
  const isSource = (path: string) => !/(?:^|\/)(?:node_modules|dist|screenshots|flames)$/.test(path);
  for (const path of ['src', 'packages', 'scripts', 'deploy', 'docs', 'test', 'package.json', 'tsconfig.json', 'biome.json'])
    cpSync(path, join(root, path), { recursive: true, filter: isSource, verbatimSymlinks: true });
  writeFileSync(join(root, '.mocharc.json'), JSON.stringify(mochaSettings));
  writeFileSync(join(root, 'tsconfig.room.json'), JSON.stringify(typesOfRoom));
  const own = readdirSync('packages').map((folder) => ({ folder, name: nameOf(folder) }));
  mkdirSync(join(root, 'node_modules/@atrium'), { recursive: true });
  for (const name of readdirSync('node_modules').filter((each) => each !== '@atrium' && !own.some((one) => one.name === each)))
    symlinkSync(join(process.cwd(), 'node_modules', name), join(root, 'node_modules', name));
  for (const { folder, name } of own) symlinkSync(join(root, 'packages', folder), join(root, 'node_modules', name));
}

const nameOf = (folder: string): string => JSON.parse(readFileSync(join('packages', folder, 'package.json'), 'utf8')).name;

const right = { apiGroups: ['auth.platform.io'], resources: ['announcements'], verbs: ['get', 'list', 'watch'] };

describe('the page about adding a resource', () => {
  let root: string;
  before(() => {
    root = mkdtempSync(join(tmpdir(), 'atrium-resource-'));
    copyRepository(root);
    for (const each of steps) follow(each, root);
  });
  after(() => rmSync(root, { recursive: true, force: true }));

  /** Runs a program in the copy. Fails with its output. */
  const inCopy = async (program: string, args: readonly string[]): Promise<string> => {
    const { stdout } = await run(program, args, { cwd: root, env: { ...process.env, NO_COLOR: '1' } }).catch((error: unknown) => {
      const { stdout: out = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      throw new Error(`${program} ${args.join(' ')}\n${out}${stderr}`);
    });
    return stdout;
  };
  const read = (path: string) => readFileSync(join(root, path), 'utf8');

  it('introduces each block with its file', () => {
    const blocks = [...page.matchAll(/^```(?!sh$)\w+$/gm)];
    expect(steps).to.have.lengthOf(blocks.length);
    expect(steps.map(({ path }) => path)).to.include('src/announcements/announcements.ts');
  });

  it('has code that passes the type check and the lint of the repository', async () => {
    const written = steps.map(({ path }) => path).filter((path) => path.endsWith('.ts'));
    await Promise.all([
      inCopy('tsc', ['-p', 'tsconfig.room.json']),
      inCopy('biome', ['ci', '--error-on-warnings', '--vcs-enabled=false', ...new Set(written)]),
    ]);
  });

  it('gives the service the same rights in the chart and in the plain manifests', () => {
    const rules = parseAllDocuments(read('deploy/manifests/rbac.yaml')).flatMap((object) => object.toJS().rules ?? []);
    expect(rules).to.deep.include(right);
    const inChart = steps.find(({ path }) => path === 'deploy/helm/atrium/templates/rbac.yaml')?.text ?? '';
    expect(parse(inChart)).to.deep.equal([right]);
  });

  const commands = /^```sh\n(.*?)^```$/ms.exec(page)?.[1]?.trim().split('\n') ?? [];
  for (const command of commands)
    it(`runs ${command}`, async () => {
      const [program = '', ...args] = command.split(' ');
      const output = await inCopy(program, args);
      if (program === 'mocha') expect(Number(/^ {2}(\d+) passing/m.exec(output)?.[1])).to.be.greaterThan(5);
      else expect(read('docs/operations.md')).to.include('| `AnnouncementCreated` | A caller creates an announcement. |');
    });
});
