/** A receiver of logs that tests script: OTLP/HTTP with JSON. */
import { createServer, type Server } from 'node:http';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import { listen, stopListening } from '../../support/listening.ts';

const attribute = z.object({
  key: z.string(),
  value: z.union([z.object({ stringValue: z.string() }), z.object({ intValue: z.string() })]),
});

/** ExportLogsServiceRequest (opentelemetry-proto, collector/logs/v1), as far as it is read here. */
const exported = z.object({
  resourceLogs: z.array(
    z.object({
      resource: z.object({ attributes: z.array(attribute) }),
      scopeLogs: z.array(
        z.object({
          scope: z.object({ name: z.string() }),
          logRecords: z.array(
            z.object({
              timeUnixNano: z.string().regex(/^\d{19}$/),
              observedTimeUnixNano: z.string().regex(/^\d{19}$/),
              severityNumber: z.number(),
              severityText: z.string(),
              eventName: z.string(),
              body: z.object({ stringValue: z.string() }),
              attributes: z.array(attribute),
              traceId: z.string().optional(),
            }),
          ),
        }),
      ),
    }),
  ),
});

type ResourceLogs = z.output<typeof exported>['resourceLogs'];
export type LogRecord = ResourceLogs[number]['scopeLogs'][number]['logRecords'][number];

interface ReceiverAnswer {
  status: number;
  body?: object;
}

/** Returns the attributes of a record or resource by their names. */
export const attributesOf = ({ attributes }: Pick<LogRecord, 'attributes'>): Record<string, string | number> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, 'intValue' in value ? Number(value.intValue) : value.stringValue]));

export class LogReceiver {
  /** Answer to a batch of records. */
  answer: (records: readonly LogRecord[]) => ReceiverAnswer = () => ({ status: 200 });
  /** Records that were taken. */
  readonly taken: LogRecord[] = [];
  readonly resources: Record<string, string | number>[] = [];
  readonly scopes: string[] = [];
  readonly authorizations: (string | undefined)[] = [];
  #port = 0;
  #server: Server | undefined;

  get port(): number {
    return this.#port;
  }

  /** Starts on the port of the last start. */
  async start(): Promise<void> {
    this.#server = createServer(async (request, response) => {
      const { resourceLogs } = exported.parse(await json(request));
      const records = resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords));
      const { status, body = {} } = request.url === '/v1/logs' ? this.answer(records) : { status: 404 };
      this.authorizations.push(request.headers.authorization);
      if (status === 200) {
        this.taken.push(...records);
        this.resources.push(...resourceLogs.map(({ resource }) => attributesOf(resource)));
        this.scopes.push(...resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.map(({ scope }) => scope.name)));
      }
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    this.#port = await listen(this.#server, this.#port);
  }

  async stop(): Promise<void> {
    if (this.#server !== undefined) await stopListening(this.#server);
  }

  /** Returns the ids of the taken events, in their order. */
  readonly ids = (): (string | number | undefined)[] => this.taken.map((record) => attributesOf(record)['audit.id']);
}
