/** Parts of a pod that a template of pods has, too. */

import { t, tOf } from '../../../../text/text';
import { PlainTable } from '../../../../ui/plain-table';
import { ObjectLink } from '../object-link';
import type { Section, SectionProps } from '../section';
import { type VolumeRow, volumeRows } from '../storage/volumes';
import { tolerationsOf } from './tolerations';

const placesOf = ({ mounts }: VolumeRow) =>
  mounts.length > 0 && (
    <ul>
      {mounts.map(({ container, path }) => (
        <li key={`${container} ${path}`}>
          {container} <code>{path}</code>
        </li>
      ))}
    </ul>
  );

function Volumes({ kinds, object }: SectionProps) {
  const { namespace } = object.metadata;
  return (
    <PlainTable
      label={t('object.volumes')}
      rows={volumeRows(object)}
      idOf={({ name }) => name}
      columns={[
        { title: t('net.name'), cell: ({ name }) => name },
        { title: t('data.type'), cell: ({ type }) => tOf('volumeType', type) },
        {
          title: t('object.holds'),
          cell: ({ objects, text }) => (
            <ul>
              {objects.map(({ kind, name }) => (
                <li key={`${kind}/${name}`}>
                  <span class="muted">{kind}</span> <ObjectLink {...{ kinds, kind, name, namespace }} />
                </li>
              ))}
              {text && (
                <li key="text">
                  <code>{text}</code>
                </li>
              )}
            </ul>
          ),
        },
        { title: t('object.mountedAt'), cell: placesOf },
      ]}
    />
  );
}

const Tolerations = ({ object }: SectionProps) => (
  <ul class="sentences">
    {tolerationsOf(object).map(({ effect, taint, seconds }) => {
      const sentence = t(`toleration.${effect}`, { taint, count: seconds });
      return <li key={sentence}>{sentence}</li>;
    })}
  </ul>
);

export const volumes: Section = { title: 'object.volumes', isShown: (pod) => volumeRows(pod).length > 0, View: Volumes };

export const tolerations: Section = {
  title: 'object.tolerations',
  isShown: (pod) => tolerationsOf(pod).length > 0,
  View: Tolerations,
};
