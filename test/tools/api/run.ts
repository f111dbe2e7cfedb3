/**
 * Sends requests generated from the OpenAPI document to the service on a real control plane, as three users. Fails (exit code 1) if an
 * answer contradicts the document, is a defect (5xx), or reveals internal details.
 *
 * node test/tools/api/run.ts         about 23,000 requests
 * node test/tools/api/run.ts --ci    about 1,500
 * Further arguments go to schemathesis: node test/tools/api/run.ts --include-operation-id PatchUser
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Person } from '../../support/api-server.ts';
import { dictionaries, startPopulatedServer } from './populated-server.ts';
import { schemathesisProgram } from './program.ts';

const [isShort, further] = [process.argv.includes('--ci'), process.argv.slice(2).filter((argument) => argument !== '--ci')];

/** Maximum of examples of an operation in the phase `fuzzing`. The phase `coverage` has as many as the document needs. */
const examples: Record<'admin' | 'viewer' | 'nobody', number> = isShort
  ? { nobody: 5, viewer: 8, admin: 45 }
  : { nobody: 50, viewer: 80, admin: 250 };
const phases = isShort ? 'examples,fuzzing' : 'examples,coverage,fuzzing,stateful';
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'nothing_internal',
];

const accessLine = z.object({ operation: z.string(), code: z.number() });

const program = await schemathesisProgram();
const directory = await mkdtemp(join(tmpdir(), 'atrium-api-'));
const config = join(directory, 'schemathesis.toml');
const population = await startPopulatedServer();
const { server } = population;
let failed = 0;
try {
  await writeFile(config, await configuration());
  for (const [role, count] of Object.entries(examples)) {
    console.info(`\n== as ${role}`);
    const person = population.people[role as keyof typeof examples];
    // The deletion of collections runs last, because it leaves no users for the other operations.
    failed += await schemathesis(person, count, '--exclude-operation-id', 'DeleteUsers');
    failed += await schemathesis(person, count, '--include-operation-id', 'DeleteUsers');
  }
  failed += (await server.request('/readyz')).status === 200 ? 0 : 1;
  console.info('\n== answers');
  console.table(answersByOperation(server.logLines));
  for (const line of server.logLines.filter((text) => text.includes('"request failed"'))) console.error(line.trim());
} finally {
  await population.stop();
  await rm(directory, { recursive: true });
}
process.exitCode = failed === 0 ? 0 : 1;

async function schemathesis(person: Person, count: number, ...selection: string[]): Promise<number> {
  const run = ['run', `${server.url}/openapi/v3`, '--phases', phases, '--checks', checks.join(','), '--max-examples', String(count)];
  const child = spawn(program, ['--config-file', config, ...run, ...(further.length === 0 ? selection : further)], {
    stdio: 'inherit',
    cwd: directory,
    env: {
      ...process.env,
      API_TOKEN: await server.token(person),
      API_CHECKS: fileURLToPath(new URL('checks.py', import.meta.url)),
    },
  });
  const [code] = await once(child, 'exit');
  return code === 0 ? 0 : 1;
}

/** Returns the configuration of schemathesis. Arrays of JSON are valid in TOML. */
async function configuration(): Promise<string> {
  const tables = Object.entries(dictionaries).map(([name, values]) => `[dictionaries.${name}]\nvalues = ${JSON.stringify(values)}\n`);
  return [await readFile(new URL('schemathesis.toml', import.meta.url), 'utf8'), ...tables].join('\n');
}

/** Counts the statuses of each operation, which reveals operations with no answer but 400. */
function answersByOperation(lines: readonly string[]): Record<string, Record<string, number>> {
  const counts: Record<string, Record<string, number>> = {};
  for (const line of lines) {
    const { data } = accessLine.safeParse(JSON.parse(line));
    if (data === undefined) continue;
    const ofOperation = counts[data.operation] ?? {};
    ofOperation[data.code] = (ofOperation[data.code] ?? 0) + 1;
    counts[data.operation] = ofOperation;
  }
  return counts;
}
