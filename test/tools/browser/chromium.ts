import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';

/** Programs in order of preference. The headless shell takes a fifth less processor time. */
const executables = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Pages of tests live for seconds. Compiling their code for speed takes a fifth more processor time than it saves. */
const withoutOptimizer = '--js-flags=--no-turbofan --no-maglev';

/** Timeout against hanging on a busy machine, not a bound of speed. */
const patienceMs = 120_000;

/**
 * Starts a headless browser that contacts only the opened pages.
 *
 * @param further arguments of the program
 * @throws Error with the way to install one
 */
export async function startChromium(...further: string[]): Promise<Browser> {
  const all = [...args, withoutOptimizer, ...further];
  const browser = await chromium.launch({ executablePath: executable(), args: all, timeout: patienceMs });
  browser.on('context', (context) => context.setDefaultTimeout(patienceMs));
  return browser;
}

/** A browser of one user that another program can control as well. */
export class SharedChromium {
  readonly context: BrowserContext;
  /** Port of the debugger. */
  readonly port: number;
  readonly #directory: string;

  private constructor(context: BrowserContext, port: number, directory: string) {
    this.context = context;
    this.port = port;
    this.#directory = directory;
  }

  static async start(): Promise<SharedChromium> {
    const executablePath = executable();
    const directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    const context = await chromium.launchPersistentContext(directory, { executablePath, args: [...args, '--remote-debugging-port=0'] });
    context.setDefaultTimeout(patienceMs);
    // Chromium writes the file in parts while it starts.
    const told = () => readFile(join(directory, 'DevToolsActivePort'), 'utf8').catch(() => '');
    const port = /^\d+(?=\n)/.exec(await eventually(told, (text) => text.includes('\n')))?.[0];
    return new SharedChromium(context, Number(port), directory);
  }

  async stop(): Promise<void> {
    await this.context.close();
    // Helper processes may write to the directory a moment longer.
    await rm(this.#directory, { recursive: true, maxRetries: 20, retryDelay: 250 });
  }
}

function executable(): string {
  const found = executables.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`Chromium is not on this machine: apt-get install chromium-headless-shell, or chromium`);
  return found;
}

/** A browser of a user with the complaints of its pages: violations of the policy, failed requests, script errors, foreign hosts. */
export class Visitor {
  readonly #context: BrowserContext;
  readonly complaints: string[] = [];
  readonly #expected: string[] = [];
  /** Pattern of complaints that are expected at any time. */
  accepted: RegExp | undefined;

  constructor(context: BrowserContext) {
    this.#context = context;
    context.on('console', (message) => {
      const { url } = message.location();
      if (message.type() !== 'error' || isRefusedList(message.text(), url)) return;
      this.complaints.push(`${message.text()} ${withoutQuery(url)}`);
    });
    context.on('request', (request) => {
      const { hostname, protocol } = new URL(request.url());
      if (protocol.startsWith('http') && !['127.0.0.1', 'localhost'].includes(hostname))
        this.complaints.push(`another host was asked: ${hostname}`);
    });
    context.on('weberror', (error) => this.complaints.push(String(error.error())));
  }

  /** Waits for expected complaints, and removes them, also those of other requests that follow until `takeComplaints`. */
  async complainsOf(part: string): Promise<void> {
    this.#expected.push(part);
    const isExpected = (complaint: string) => complaint.includes(part);
    await eventually(
      () => this.complaints,
      (complaints) => complaints.some(isExpected),
    );
    this.complaints.splice(0, Number.POSITIVE_INFINITY, ...this.complaints.filter((one) => !isExpected(one)));
  }

  /** Returns and removes the unexpected complaints. */
  takeComplaints = (): string[] => {
    const expected = this.#expected.splice(0);
    return this.complaints.splice(0).filter((one) => !this.accepted?.test(one) && !expected.some((part) => one.includes(part)));
  };

  openTab = (): Promise<Page> => this.#context.newPage();

  cookies = () => this.#context.cookies();

  leave = (): Promise<void> => this.#context.close();
}

/** Reports whether a list was refused. Pages request a list before they know that the kind exists and that the user may list it. */
const isRefusedList = (text: string, url: string): boolean =>
  /status of 40[34] /.test(text) && /\/api\/(?:kubernetes|v2\/resources)\/.*[?&]limit=\d+$/.test(url);

const withoutQuery = (address: string) => address.split('?', 1)[0] ?? '';
