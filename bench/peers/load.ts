import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Request {
  method?: 'GET' | 'POST';
  /** Paths that are requested in turn. */
  paths: readonly [string, ...string[]];
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

export interface LoadOptions {
  seconds: number;
  connections: number;
  /** Directory of the script for wrk. */
  directory: string;
}

export interface Loaded {
  requests: number;
  perSecond: number;
  /** 99th percentile of the time of an answer, in milliseconds. */
  p99: number;
}

/** Script for wrk: sends the requests, and prints the counters as one line of JSON. */
const script = ({ method = 'GET', paths, headers = {}, body }: Request): string => `
local paths = { ${paths.map(quoted).join(', ')} }
local headers = {}
${Object.entries(headers)
  .map(([name, value]) => `headers[${quoted(name)}] = ${quoted(value)}`)
  .join('\n')}
local made = {}
init = function(args)
  for index, path in ipairs(paths) do
    made[index] = wrk.format(${quoted(method)}, path, headers, ${body === undefined ? 'nil' : quoted(body)})
  end
end
local count = 0
request = function()
  count = count + 1
  return made[(count - 1) % #made + 1]
end
done = function(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"perSecond":%.3f,"p99":%.4f,"failed":%d}',
    summary.requests, summary.requests * 1e6 / summary.duration, latency:percentile(99) / 1000,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
`;

/** Returns a string of Lua, which needs the same escapes as JSON for the strings of the requests. */
const quoted = (text: string) => JSON.stringify(text);

/** @throws Error if any answer is not a success */
export async function load(base: string, request: Request, { seconds, connections, directory }: LoadOptions): Promise<Loaded> {
  const file = join(directory, 'wrk.lua');
  await writeFile(file, script(request));
  const { stdout } = await run('wrk', [
    '--threads',
    '1',
    '--connections',
    `${connections}`,
    '--duration',
    `${seconds}`,
    '--timeout',
    '30s',
    '--script',
    file,
    base,
  ]);
  const { failed, ...loaded } = JSON.parse(/\{"requests".*\}/.exec(stdout)?.[0] ?? '{}') as Loaded & { failed: number };
  if (failed !== 0) throw new Error(`${base}${request.paths[0]}: ${stdout}`);
  return loaded;
}
