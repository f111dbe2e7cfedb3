import { defaultContainer } from '@atrium/objects/pod-containers.ts';
import { typedText } from '@atrium/objects/typed-text.ts';
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { api, bodyOf } from '../../../api/client';
import { apiPath, type Kind, pageOf } from '../../../api/kinds';
import { refetch, useLoad } from '../../../api/load';
import { type ClusterObject, write } from '../../../api/objects';
import type { Right } from '../../../app/rights';
import { navigate } from '../../../app/router';
import { t } from '../../../text/text';
import { Dialog } from '../../../ui/dialog';
import { Field, Form } from '../../../ui/form';
import { WayOut } from '../../../ui/loaded';
import { Skeleton } from '../../../ui/state';
import { AsKubectl } from '../as-kubectl';
import { runsOf } from '../containers';
import { debugCommand } from '../kubectl';
import { type DebugContainer, debugName, debugPatch, profiles } from './debug-container';

/** Default for `console.debugImage`. */
const usualImage = 'busybox:1.37';

/** Rights that adding a container and using its terminal take. */
export function debugRights({ name, namespace }: ClusterObject['metadata']): readonly Right[] {
  const right = (verb: string, subresource: string): Right => ({
    ...{ verb, group: '', resource: 'pods', subresource, name },
    ...(namespace && { namespace }),
  });
  return [right('patch', 'ephemeralcontainers'), right('create', 'attach')];
}

interface DebugProps {
  kind: Kind;
  pod: ClusterObject;
  onClose: () => void;
}

/** Adds an ephemeral container to a pod, and leads to its terminal. */
export function DebugDialog({ kind, pod, onClose }: DebugProps) {
  const load = useLoad('envs', (signal) => bodyOf(api.GET('/api/v1/envs', { signal })));
  const isKnown = load.data.value !== undefined || load.error.value !== undefined;
  return (
    <Dialog title={t('debug.title', { name: pod.metadata.name })} onClose={onClose}>
      {isKnown ? (
        <DebugForm {...{ kind, pod, onClose }} image={load.data.value?.['debug.image'] || usualImage} />
      ) : (
        <>
          <Skeleton rows={4} />
          <WayOut />
        </>
      )}
    </Dialog>
  );
}

function DebugForm({ kind, pod, image: initial, onClose }: DebugProps & { image: string }) {
  const targets = runsOf(pod).filter(({ hasStarted }) => hasStarted);
  const usual = targets.find((one) => one.name === defaultContainer(pod)) ?? targets[0];
  const [image, target, profile] = [useSignal(initial), useSignal(usual?.name ?? ''), useSignal<string>('baseline')];
  const name = useMemo(debugName, []);
  const wanted = { name, image: typedText(image.value), target: target.value, profile: profile.value } as DebugContainer;
  async function add(signal: AbortSignal): Promise<void> {
    const path = apiPath(kind, { ...pod.metadata, subresource: 'ephemeralcontainers' });
    await write(path, { method: 'PATCH', body: debugPatch(wanted), contentType: 'application/strategic-merge-patch+json' });
    if (!signal.aborted) {
      onClose();
      navigate(`${pageOf(kind, pod.metadata, 'terminal')}?${new URLSearchParams({ container: name })}`);
    }
    await refetch('object/');
  }
  return (
    <Form action={t('debug.add')} onSubmit={add} onCancel={onClose} isDisabled={wanted.image === ''}>
      <p class="measure">{t('debug.what')}</p>
      <Field label={t('object.image')} name="spec.ephemeralContainers[0].image" value={image} isCode />
      <Field label={t('debug.target')} name="spec.ephemeralContainers[0].targetContainerName" value={target} hint={t('debug.targetHint')}>
        {targets.map((one) => (
          <option key={one.name} value={one.name}>
            {one.name}
          </option>
        ))}
        <option value="">{t('object.noneOf')}</option>
      </Field>
      <Field label={t('debug.profile')} name="spec.ephemeralContainers[0].securityContext" value={profile}>
        {profiles.map((one) => (
          <option key={one} value={one}>
            {t(`debug.profile.${one}`)}
          </option>
        ))}
      </Field>
      <AsKubectl command={debugCommand(pod.metadata, { ...wanted, container: name })} />
    </Form>
  );
}
