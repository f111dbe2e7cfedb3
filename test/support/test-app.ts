import { statusesOf } from '@atrium/http/openapi/document.ts';
import { App } from '../../src/app.ts';
import { type AuditName, auditEvents } from '../../src/audit/audit-events.ts';
import type { ProcessContext } from '../../src/base.ts';
import { cheapPasswords } from './cheap-passwords.ts';
import { keptSigningKeys } from './kept-keys.ts';

/**
 * The service in tests. Its stop fails if an operation has answered with a status that the OpenAPI document does not declare for it, or if
 * an audit event had a field that `audit-events.ts` does not declare for it.
 */
export class TestApp extends App {
  #metricsURL = '';
  readonly #undeclaredFields: Set<string>;

  constructor({ writeAudit, ...context }: ProcessContext) {
    const undeclared = new Set<string>();
    super({
      passwords: cheapPasswords(),
      newSigningKeys: keptSigningKeys,
      ...context,
      writeAudit(line) {
        for (const field of undeclaredFields(line)) undeclared.add(field);
        writeAudit?.(line);
      },
    });
    this.#undeclaredFields = undeclared;
  }

  override async start(): Promise<{ port: number; metricsPort: number }> {
    const ports = await super.start();
    this.#metricsURL = `http://127.0.0.1:${ports.metricsPort}/metrics`;
    return ports;
  }

  override async stop(options?: { drain?: boolean }): Promise<void> {
    const undeclared = this.#metricsURL === '' ? [] : [...(await this.#undeclared()), ...this.#undeclaredFields];
    await super.stop(options);
    if (undeclared.length === 0) return;
    // The error is thrown outside the stop, so that other fixtures of the suite are stopped.
    queueMicrotask(() => {
      throw new Error(`written, and not declared: ${undeclared.join(', ')}`);
    });
  }

  /** Reads the answered statuses from the metrics; 499 stands for a client that has disconnected. */
  async #undeclared(): Promise<string[]> {
    const text = await (await fetch(this.#metricsURL)).text();
    const counted = text.matchAll(/^atrium_http_request_duration_seconds_count\{operation="(\w+)",code="(\d+)"\}/gm);
    const declared = new Map(this.operations.map((operation) => [operation.id, statusesOf(operation)]));
    return [...counted].flatMap(([, id = '', code = '']) =>
      code !== '499' && declared.get(id)?.has(code) === false ? [`${id} ${code}`] : [],
    );
  }
}

const fieldsOfAll = ['audit', 'time', 'requestId', 'source', 'userAgent', 'outcome', 'traceId'];

function undeclaredFields(line: string): string[] {
  const { audit, ...others }: { audit: AuditName } = JSON.parse(line);
  const declared: readonly string[] = [...fieldsOfAll, ...auditEvents[audit].fields];
  return Object.keys(others).flatMap((field) => (declared.includes(field) ? [] : [`${audit} ${field}`]));
}
