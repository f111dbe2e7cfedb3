import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type LoadOptions, load } from './load.ts';
import { type Row, warmUp } from './rows.ts';

const run = promisify(execFile);

/** Merges the compiled forms of a function, and its paths in different builds. */
const asOneFunction = "s/JS:[*+^~]'?//g; s#file://[^;]*/([^/;]+/[^/;]+[.]js)#\\1#g";

/** Colours are the same in each run; stacks below half a percent are left out. */
const look = '--no-javascript --deterministic --minwidth 0.5';

/** Removes the script and its handler from the picture. */
const still = 's#<script.*</script>##; s# onload=.init.evt..##';

/**
 * Draws a flame graph of each build of the service in each row, as `FOLDER/ROW-NAME.svg`, with the stacks as `.folded`. Needs perf
 * (`apt-get install linux-perf`) and inferno (`cargo install inferno`).
 */
export async function drawFlames(rows: readonly Row[], folder: string, options: LoadOptions): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const { name, work, contenders } of rows) {
    for (const contender of contenders.filter(({ target }) => target.metricsURL !== undefined)) {
      const { name: build, target, request } = contender;
      await warmUp(contender, options);
      const file = join(folder, `${name}-${build.toLowerCase().replaceAll(' ', '-')}`);
      const recorded = join(options.directory, 'perf.data');
      const record = [
        'record',
        '-F',
        '997',
        '-e',
        'cpu-clock',
        '-g',
        '-p',
        `${target.pid}`,
        '-o',
        recorded,
        '--',
        'sleep',
        `${options.seconds}`,
      ];
      await Promise.all([load(target.url, request, { ...options, seconds: options.seconds + 1 }), run('perf', record)]);
      const draw = `perf script -i "$0" | inferno-collapse-perf | sed -E "${asOneFunction}" > "$1.folded" && inferno-flamegraph ${look} --title "$2" "$1.folded" | sed -zE "${still}" > "$1.svg"`;
      await run('bash', ['-o', 'pipefail', '-c', draw, recorded, file, `${build}: ${work}`]);
      console.log(`${file}.svg`);
    }
  }
}
