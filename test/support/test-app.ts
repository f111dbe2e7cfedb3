import { App } from '../../src/app.ts';
import { statusesOf } from '../../src/http/openapi.ts';

/** The service of tests. At its stop it fails when an operation has answered a status that the OpenAPI document does not name for it. */
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
    // Beside the stop, so that what else the suite has started is stopped.
    queueMicrotask(() => {
      throw new Error(`answered, and not declared: ${undeclared.join(', ')}`);
    });
  }

  /** By what the metrics have counted; 499 is for a client that was gone. */
  async #undeclared(): Promise<string[]> {
    const text = await (await fetch(this.#metricsURL)).text();
    const counted = text.matchAll(/^atrium_http_request_duration_seconds_count\{operation="(\w+)",code="(\d+)"\}/gm);
    const declared = new Map(this.operations.map((operation) => [operation.id, statusesOf(operation)]));
    return [...counted].flatMap(([, id = '', code = '']) =>
      code !== '499' && declared.get(id)?.has(code) === false ? [`${id} ${code}`] : [],
    );
  }
}
