/** A mail server in a process of its own: reads its options from stdin, and writes a line of JSON for each event. */
import { readFileSync } from 'node:fs';
import { SMTPServer } from 'smtp-server';
import { z } from 'zod';

const options = z
  .object({
    port: z.number(),
    key: z.string(),
    cert: z.string(),
    user: z.string(),
    password: z.string(),
    offersTLS: z.boolean(),
    /** Number of temporary refusals of a mail before it is accepted. */
    putsOff: z.number(),
    /** Recipients that are refused, with the code of the answer. */
    refused: z.record(z.string(), z.number()),
    /** Recipients that are refused with 451, with the number of times. */
    greylisted: z.record(z.string(), z.number()),
    /** True for a server that accepts connections and never answers. */
    hangs: z.boolean(),
  })
  .parse(JSON.parse(readFileSync(0, 'utf8')));

const tell = (event: Record<string, unknown>) => void process.stdout.write(`${JSON.stringify(event)}\n`);

/** Events of mails by session. They are told once the client has its answer: a server that stops earlier gets the mail again. */
const answered = new Map<string, Record<string, unknown>>();
let left = options.putsOff;
const server = new SMTPServer({
  key: options.key,
  cert: options.cert,
  logger: false,
  disableReverseLookup: true,
  ...(!options.offersTLS && { disabledCommands: ['STARTTLS'] }),
  authOptional: options.user === '',
  onConnect(_session, callback) {
    tell({ event: 'connected' });
    if (!options.hangs) callback();
  },
  onAuth({ username, password }, _session, callback) {
    const isRight = username === options.user && password === options.password;
    callback(isRight ? null : new Error('wrong'), { user: username });
  },
  onClose({ id }) {
    const event = answered.get(id);
    if (event !== undefined) tell(event);
    answered.delete(id);
  },
  onRcptTo({ address }, _session, callback) {
    const greylisted = options.greylisted[address] ?? 0;
    options.greylisted[address] = greylisted - 1;
    const responseCode = options.refused[address] ?? (greylisted > 0 ? 451 : undefined);
    if (responseCode === undefined) return callback();
    tell({ event: 'refused', to: [address] });
    callback(Object.assign(new Error('not now'), { responseCode }));
  },
  onData(stream, session, callback) {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const to = session.envelope.rcptTo.map(({ address }) => address);
      const isPutOff = left > 0;
      left -= 1;
      answered.set(session.id, {
        event: isPutOff ? 'put off' : 'mail',
        to,
        isSecure: session.secure,
        user: session.user ?? '',
        ehlo: session.hostNameAppearsAs || '',
        text: Buffer.concat(chunks).toString(),
      });
      callback(isPutOff ? Object.assign(new Error('try again later'), { responseCode: 451 }) : null);
    });
  },
});
server.on('error', () => undefined);
server.listen(options.port, '127.0.0.1', () => tell({ event: 'listening' }));
