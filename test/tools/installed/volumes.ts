import { chmod, chown, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type {
  CoreV1Api,
  V1DownwardAPIVolumeFile,
  V1KeyToPath,
  V1Pod,
  V1ServiceAccountTokenProjection,
  V1Volume,
  V1VolumeMount,
  V1VolumeProjection,
} from '@kubernetes/client-node';
import { absentIf, fieldOf } from './downward.ts';

interface Content {
  bytes: Buffer;
  mode: number;
}
type Files = Map<string, Content>;

export interface Mount {
  /** Path on this machine. */
  source: string;
  /** Path in the container. */
  path: string;
  isReadOnly: boolean;
}

const kubeletMode = 0o644;

/**
 * The volumes of one Pod as files on this machine, in the layout of a kubelet: each file is a link into `..data`, a link that is
 * swapped after a change, so that readers never see a partial change.
 */
export class PodVolumes {
  readonly #core: CoreV1Api;
  readonly #pod: V1Pod;
  readonly #directory: string;
  readonly #group: number;
  #revision = 0;
  #writing: Promise<void> = Promise.resolve();

  /** @param directory for this Pod alone; all users must be able to enter it */
  constructor({ core, pod, directory }: { core: CoreV1Api; pod: V1Pod; directory: string }) {
    this.#core = core;
    this.#pod = pod;
    this.#directory = directory;
    this.#group = pod.spec?.securityContext?.fsGroup ?? 0;
  }

  /** Writes all volumes, or renews the projected ones with new tokens and the current ConfigMaps and Secrets. */
  write(): Promise<void> {
    // Writes run one after the other, because each deletes the files of the previous one.
    this.#writing = this.#writing.catch(() => undefined).then(() => this.#writeNow());
    return this.#writing;
  }

  async #writeNow(): Promise<void> {
    this.#revision += 1;
    for (const volume of this.#pod.spec?.volumes ?? []) {
      const directory = join(this.#directory, volume.name);
      await mkdir(directory, { recursive: true });
      if (volume.emptyDir) {
        await chown(directory, 0, this.#group);
        await chmod(directory, 0o2777);
      } else {
        await chmod(directory, 0o755);
        await this.#swap(directory, await this.#filesOf(volume));
      }
    }
  }

  mounts(of: readonly V1VolumeMount[]): Mount[] {
    return of.map((mount) => {
      const volume = this.#pod.spec?.volumes?.find(({ name }) => name === mount.name);
      if (!volume) throw new Error(`there is no volume ${mount.name}`);
      const source = join(this.#directory, mount.name, mount.subPath ?? '');
      return { source, path: mount.mountPath, isReadOnly: mount.readOnly === true || !volume.emptyDir };
    });
  }

  async #filesOf(volume: V1Volume): Promise<Files> {
    if (volume.configMap) {
      const { defaultMode, ...source } = volume.configMap;
      return this.#project([{ configMap: source }], defaultMode);
    }
    if (volume.secret) {
      const { defaultMode, secretName = '', items, optional } = volume.secret;
      return this.#project([{ secret: { name: secretName, ...(items && { items }), ...(optional && { optional }) } }], defaultMode);
    }
    if (volume.downwardAPI) return this.#project([{ downwardAPI: volume.downwardAPI }], volume.downwardAPI.defaultMode);
    if (volume.projected) return this.#project(volume.projected.sources ?? [], volume.projected.defaultMode);
    throw new Error(`volume ${volume.name} is of a kind that this kubelet does not have`);
  }

  async #project(sources: readonly V1VolumeProjection[], mode = kubeletMode): Promise<Files> {
    const files: Files = new Map();
    for (const { configMap, secret, downwardAPI, serviceAccountToken } of sources) {
      if (configMap) await this.#configMap(configMap, { files, mode });
      if (secret) await this.#secret(secret, { files, mode });
      for (const item of downwardAPI?.items ?? []) files.set(item.path, { bytes: this.#field(item), mode: item.mode ?? mode });
      if (serviceAccountToken) files.set(serviceAccountToken.path, { bytes: await this.#token(serviceAccountToken), mode });
    }
    return files;
  }

  async #configMap({ name = '', items, optional = false }: Source, to: { files: Files; mode: number }): Promise<void> {
    const map = await absentIf(optional, this.#core.readNamespacedConfigMap({ namespace: this.#namespace, name }));
    const binary = Object.entries(map?.binaryData ?? {}).map(([key, text]): [string, Buffer] => [key, Buffer.from(text, 'base64')]);
    const text = Object.entries(map?.data ?? {}).map(([key, value]): [string, Buffer] => [key, Buffer.from(value)]);
    pick([...text, ...binary], items, to);
  }

  async #secret({ name = '', items, optional = false }: Source, to: { files: Files; mode: number }): Promise<void> {
    const secret = await absentIf(optional, this.#core.readNamespacedSecret({ namespace: this.#namespace, name }));
    const data = Object.entries(secret?.data ?? {}).map(([key, text]): [string, Buffer] => [key, Buffer.from(text, 'base64')]);
    pick(data, items, to);
  }

  #field({ path, fieldRef }: V1DownwardAPIVolumeFile): Buffer {
    if (!fieldRef) throw new Error(`${path}: only fieldRef is projected`);
    return Buffer.from(fieldOf(this.#pod, fieldRef.fieldPath));
  }

  async #token({ audience, expirationSeconds }: V1ServiceAccountTokenProjection): Promise<Buffer> {
    const { name = '', uid = '' } = this.#pod.metadata ?? {};
    const { status } = await this.#core.createNamespacedServiceAccountToken({
      namespace: this.#namespace,
      name: this.#pod.spec?.serviceAccountName ?? 'default',
      body: {
        spec: {
          audiences: audience ? [audience] : [],
          expirationSeconds: expirationSeconds ?? 3600,
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
        },
      },
    });
    return Buffer.from(status?.token ?? '');
  }

  async #swap(directory: string, files: Files): Promise<void> {
    const revision = `..${this.#revision}`;
    for (const [path, { bytes, mode }] of files) {
      const file = join(directory, revision, path);
      await mkdir(dirname(file), { recursive: true, mode: 0o755 });
      await writeFile(file, bytes);
      await chown(file, 0, this.#group);
      // A volume belongs to fsGroup, and its members may read it.
      await chmod(file, this.#group === 0 ? mode : mode | 0o440);
    }
    await mkdir(join(directory, revision), { recursive: true, mode: 0o755 });
    await symlink(revision, join(directory, '..new'));
    await rename(join(directory, '..new'), join(directory, '..data'));
    const tops = new Set([...files.keys()].map((path) => path.split('/')[0] ?? path));
    for (const name of await readdir(directory)) {
      if (name.startsWith('..')) {
        if (name !== '..data' && name !== revision) await rm(join(directory, name), { recursive: true });
      } else if (!tops.delete(name)) await rm(join(directory, name));
    }
    for (const name of tops) await symlink(join('..data', name), join(directory, name));
  }

  get #namespace(): string {
    return this.#pod.metadata?.namespace ?? '';
  }
}

interface Source {
  name?: string;
  items?: V1KeyToPath[];
  optional?: boolean;
}

function pick(all: readonly [string, Buffer][], items: V1KeyToPath[] | undefined, { files, mode }: { files: Files; mode: number }): void {
  for (const [key, bytes] of all) {
    if (!items) files.set(key, { bytes, mode });
    for (const item of items ?? []) if (item.key === key) files.set(item.path, { bytes, mode: item.mode ?? mode });
  }
}
