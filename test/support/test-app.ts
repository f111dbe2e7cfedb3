import { App } from '../../src/app.ts';
import { statusesOf } from '../../src/http/openapi.ts';

/** The service in tests. Its stop fails if an operation has answered with a status that the OpenAPI document does not declare for it. */
export class TestApp extends App {
  #metricsURL = '';

  override async start(): Promise<{ port: number; metricsPort: number }> {
    const ports = await super.start();
    this.#metricsURL = `http://127.0.0.1:${ports.metricsPort}/metrics`;
    return ports;
  }

  override async stop(options?: { drain?: boolean }): Promise<void> {
    const undeclared = this.#metricsURL === '' ? [] : await this.#undeclared();
    await super.stop(options);
    if (undeclared.length === 0) return;
    // The error is thrown outside the stop, so that other fixtures of the suite are stopped.
    queueMicrotask(() => {
      throw new Error(`answered, and not declared: ${undeclared.join(', ')}`);
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
