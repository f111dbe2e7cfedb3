import { X509Certificate } from 'node:crypto';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';

/** Reports version, revision of the sources and version of Node.js. */
export function reportBuild(metrics: Metrics, version: string, revision: string): void {
  metrics
    .gauge({
      name: 'atrium_build_info',
      help: 'Always 1; the labels are the version of the service, the revision of its sources and the version of Node.js.',
      labelNames: ['version', 'revision', 'node'],
    })
    .set({ version, revision, node: process.version }, 1);
}

/** @param read returns the certificate in PEM that is in use, undefined if there is none */
export function reportCertificate(metrics: Metrics, certificate: string, read: () => string | Buffer | undefined): void {
  metrics.read(
    {
      name: 'atrium_certificate_expiry_timestamp_seconds',
      help: 'End of the validity of a certificate in use, by its purpose.',
      labelNames: ['certificate'],
    },
    () => expiryOf(read()).map((seconds) => [{ certificate }, seconds] as const),
  );
}

function expiryOf(pem: string | Buffer | undefined): number[] {
  try {
    return pem === undefined ? [] : [new X509Certificate(pem).validToDate.getTime() / 1000];
  } catch {
    return [];
  }
}
