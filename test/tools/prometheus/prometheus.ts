import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Program } from '../../cluster/program.ts';
import { freePort } from '../../support/free-port.ts';
import { prometheusPrograms } from './install.ts';

/** Prometheus as a child process on a free port, with samples that were taken earlier. */
export class Prometheus {
  readonly #folder: string;
  readonly #program: Program;
  /** Address without a path. */
  readonly url: string;
  readonly port: number;

  private constructor(folder: string, program: Program, { url, port }: { url: string; port: number }) {
    this.#folder = folder;
    this.#program = program;
    this.url = url;
    this.port = port;
  }

  /** @param samples in the text format of OpenMetrics, with the time of each */
  static async start(samples: string, address: string): Promise<Prometheus> {
    const programs = await prometheusPrograms();
    const folder = await mkdtemp(join(tmpdir(), 'atrium-prometheus-'));
    const port = await freePort();
    const url = `http://${address}:${port}`;
    await writeFile(join(folder, 'samples'), samples);
    await writeFile(join(folder, 'prometheus.yml'), 'scrape_configs: []\n');
    await promisify(execFile)(join(programs, 'promtool'), ['tsdb', 'create-blocks-from', 'openmetrics', 'samples', 'data'], {
      cwd: folder,
    });
    const program = new Program(
      join(programs, 'prometheus'),
      {
        'config.file': 'prometheus.yml',
        'storage.tsdb.path': 'data',
        'storage.tsdb.retention.time': '30d',
        'web.listen-address': `${address}:${port}`,
      },
      { directory: folder, isReady: () => isReady(url) },
    );
    const prometheus = new Prometheus(folder, program, { url, port });
    await program.start().catch(async (error: unknown) => {
      await prometheus.stop();
      throw error;
    });
    return prometheus;
  }

  /** Kills the server, and deletes its samples. */
  async stop(): Promise<void> {
    await this.#program.kill();
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

const isReady = (url: string) =>
  fetch(`${url}/-/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
