import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiServer } from '../../support/api-server.ts';
import { serviceNamespace } from '../../support/cluster-admin.ts';

/** Writes the files that a kubelet mounts for the service account. */
export async function writeServiceAccount(
  path: string,
  { certificateAuthority }: Pick<ApiServer, 'certificateAuthority'>,
  token: string,
): Promise<void> {
  await mkdir(path);
  await writeFile(join(path, 'ca.crt'), certificateAuthority);
  await writeFile(join(path, 'token'), token);
  await writeFile(join(path, 'namespace'), serviceNamespace);
}
