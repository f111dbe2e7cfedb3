import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { compileCache } from '../../support/command.ts';

const program = fileURLToPath(new URL('smtp-process.ts', import.meta.url));

const eventSchema = z.object({
  event: z.enum(['listening', 'connected', 'refused', 'put off', 'mail']),
  to: z.array(z.string()).default([]),
  isSecure: z.boolean().default(false),
  /** False for a client without authentication. */
  user: z.union([z.string(), z.literal(false)]).default(''),
  ehlo: z.string().default(''),
  text: z.string().default(''),
});

export interface MailServerOptions {
  port: number;
  key: string;
  cert: string;
  user?: string;
  password?: string;
  offersTLS?: boolean;
  putsOff?: number;
  refused?: Readonly<Record<string, number>>;
  greylisted?: Readonly<Record<string, number>>;
  hangs?: boolean;
}

export interface TakenMail {
  to: readonly string[];
  isSecure: boolean;
  user: string;
  /** Name of the client. */
  ehlo: string;
  headers: string;
  body: string;
  /** Address of the link in the mail. */
  link: string;
}

/** A mail server on this machine, in a process of its own, with the mails that it has received. */
export class MailServer {
  readonly port: number;
  readonly #process: ChildProcess;
  readonly #events: z.output<typeof eventSchema>[] = [];

  private constructor(process: ChildProcess, port: number) {
    this.port = port;
    this.#process = process;
    if (process.stdout) createInterface(process.stdout).on('line', (line) => this.#events.push(eventSchema.parse(JSON.parse(line))));
  }

  static async start(options: MailServerOptions): Promise<MailServer> {
    const child = spawn(process.execPath, [program], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH ?? '', NODE_NO_WARNINGS: '1', ...compileCache },
    });
    const server = new MailServer(child, options.port);
    child.stdin?.end(
      JSON.stringify({ user: '', password: '', offersTLS: true, putsOff: 0, refused: {}, greylisted: {}, hangs: false, ...options }),
    );
    await server.until(() => server.count('listening') === 1);
    return server;
  }

  count(event: 'listening' | 'connected' | 'put off' | 'mail'): number {
    return this.#events.filter((one) => one.event === event).length;
  }

  /** Returns the number of refusals of a recipient. */
  refusals(address: string): number {
    return this.#events.filter(({ event, to }) => event === 'refused' && to.includes(address)).length;
  }

  get mails(): readonly TakenMail[] {
    return this.#events
      .filter(({ event }) => event === 'mail')
      .map(({ to, isSecure, user, ehlo, text }) => ({ to, isSecure, user: user || '', ehlo, ...read(text) }));
  }

  async until(isSo: () => boolean): Promise<void> {
    await eventually(
      async () => isSo(),
      (so) => so,
    );
  }

  /** Waits for the next mail after a number of them. */
  async mail(after = 0): Promise<TakenMail> {
    await this.until(() => this.mails.length > after);
    const taken = this.mails[after];
    if (!taken) throw new Error('no mail');
    return taken;
  }

  async stop(): Promise<void> {
    this.#process.kill();
    if (this.#process.exitCode === null && this.#process.signalCode === null) await once(this.#process, 'close');
  }
}

function read(text: string): Pick<TakenMail, 'headers' | 'body' | 'link'> {
  const end = text.indexOf('\r\n\r\n');
  const headers = text.slice(0, end).replaceAll(/\r\n[ \t]/g, ' ');
  const raw = text.slice(end + 4);
  const body = /^content-transfer-encoding: base64$/im.test(headers)
    ? Buffer.from(raw, 'base64').toString()
    : Buffer.from(
        raw.replaceAll('=\r\n', '').replaceAll(/=([0-9A-F]{2})/g, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
        'latin1',
      ).toString();
  return { headers, body, link: /https?:\/\/\S+/.exec(body)?.[0] ?? '' };
}
