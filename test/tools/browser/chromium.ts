import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const executablePath = '/usr/bin/chromium';

const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A headless browser that speaks only to the pages it is sent to. @throws Error that says how to get one */
export async function startChromium(): Promise<Browser> {
  mustBeThere();
  return chromium.launch({ executablePath, args });
}

/** The same as one person's browser, which another program can drive as well. */
export class SharedChromium {
  readonly context: BrowserContext;
  /** Where it listens for a debugger. */
  readonly port: number;
  readonly #directory: string;

  private constructor(context: BrowserContext, port: number, directory: string) {
    this.context = context;
    this.port = port;
    this.#directory = directory;
  }

  static async start(): Promise<SharedChromium> {
    mustBeThere();
    const directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    const context = await chromium.launchPersistentContext(directory, { executablePath, args: [...args, '--remote-debugging-port=0'] });
    const [port] = (await readFile(join(directory, 'DevToolsActivePort'), 'utf8')).split('\n', 1);
    return new SharedChromium(context, Number(port), directory);
  }

  async stop(): Promise<void> {
    await this.context.close();
    await rm(this.#directory, { recursive: true });
  }
}

function mustBeThere(): void {
  if (!existsSync(executablePath)) throw new Error(`${executablePath} is not on this machine: apt-get install chromium`);
}

/** A person's browser, and all that its pages complain of: violations of their policy, failed requests, errors of scripts, other hosts. */
export class Visitor {
  readonly #context: BrowserContext;
  readonly complaints: string[] = [];

  constructor(context: BrowserContext) {
    this.#context = context;
    context.on('console', (message) => {
      if (message.type() === 'error') this.complaints.push(`${message.text()} ${withoutQuery(message.location().url)}`);
    });
    context.on('request', (request) => {
      const { hostname, protocol } = new URL(request.url());
      if (protocol.startsWith('http') && !['127.0.0.1', 'localhost'].includes(hostname))
        this.complaints.push(`another host was asked: ${hostname}`);
    });
    context.on('weberror', (error) => this.complaints.push(String(error.error())));
  }

  openTab = (): Promise<Page> => this.#context.newPage();

  cookies = () => this.#context.cookies();

  leave = (): Promise<void> => this.#context.close();
}

const withoutQuery = (address: string) => address.split('?', 1)[0] ?? '';
