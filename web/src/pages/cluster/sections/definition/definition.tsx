import { apiPath, type Kind, pageOf } from '../../../../api/kinds';
import { useLoad } from '../../../../api/load';
import { type ClusterObject, getJson, metadataOnly } from '../../../../api/objects';
import { Guarded } from '../../../../app/guarded';
import { type Right, useRights } from '../../../../app/rights';
import { href } from '../../../../app/router';
import { count, t } from '../../../../text/text';
import { Facts } from '../../../../ui/facts';
import { Loaded } from '../../../../ui/loaded';
import { PlainTable } from '../../../../ui/plain-table';
import { Notice } from '../../../../ui/state';
import { summary } from '../conditions/condition-notices';
import type { Section, SectionProps } from '../section';
import { type Definition, definitionOf, instanceCount, missingVersions } from './definitions';

function DefinitionFacts({ object }: SectionProps) {
  const { group, names, scope, strategy } = definitionOf(object);
  return (
    <Facts
      of={[
        [t('definition.group'), group],
        [t('subjects.kind'), names.kind],
        [t('definition.scope'), t(scope === 'Namespaced' ? 'definition.namespaced' : 'definition.cluster')],
        [t('definition.shortNames'), names.shortNames?.join(', ')],
        [t('definition.categories'), names.categories?.join(', ')],
        [t('definition.conversion'), strategy !== 'None' && strategy],
      ]}
    />
  );
}

function Versions({ object }: SectionProps) {
  const definition = definitionOf(object);
  const lost = missingVersions(definition);
  return (
    <>
      {lost.length > 0 && <Notice kind="warn">{t('definition.lostVersions', { versions: lost.join(', ') })}</Notice>}
      <PlainTable
        label={t('definition.versions')}
        rows={definition.versions}
        idOf={({ name }) => name}
        columns={[
          { title: t('definition.version'), cell: ({ name }) => <code>{name}</code> },
          { title: t('definition.served'), cell: ({ served }) => t(served ? 'object.yes' : 'object.no') },
          { title: t('definition.stored'), cell: ({ storage }) => t(storage ? 'object.yes' : 'object.no') },
          {
            title: t('definition.subresources'),
            cell: ({ subresources = {} }) => Object.keys(subresources).join(', ') || t('object.noneOf'),
          },
          {
            title: t('definition.deprecated'),
            cell: ({ deprecated, deprecationWarning }) => (deprecated ? (deprecationWarning ?? t('object.yes')) : t('object.no')),
          },
        ]}
      />
    </>
  );
}

const columnsOf = (object: ClusterObject) =>
  definitionOf(object).versions.flatMap(({ name, additionalPrinterColumns = [] }) =>
    additionalPrinterColumns.map((column) => ({ version: name, ...column })),
  );

const Columns = ({ object }: SectionProps) => (
  <PlainTable
    label={t('definition.columns')}
    rows={columnsOf(object)}
    idOf={({ version, name, jsonPath }) => `${version}/${name}/${jsonPath}`}
    columns={[
      { title: t('definition.version'), cell: ({ version }) => <code>{version}</code> },
      { title: t('definition.column'), cell: ({ name }) => name },
      { title: t('definition.type'), cell: ({ type, format }) => [type, format].filter(Boolean).join(', ') },
      { title: t('definition.path'), cell: ({ jsonPath }) => <code>{jsonPath}</code> },
      { title: t('definition.wide'), cell: ({ priority = 0 }) => t(priority > 0 ? 'definition.wideOnly' : 'definition.always') },
    ]}
  />
);

/** The number of instances, and the way to their list. */
function Instances({ kinds, object }: SectionProps) {
  const definition = definitionOf(object);
  const right: Right = { verb: 'list', group: definition.group, resource: definition.names.plural };
  useRights([right]);
  const known = kinds.find(({ group, resource }) => group === right.group && resource === right.resource);
  return (
    <Guarded right={right}>
      <InstanceCount definition={definition} title={known?.title ?? definition.names.kind} />
    </Guarded>
  );
}

function InstanceCount({ definition: { group, names, version }, title }: { definition: Definition; title: string }) {
  const place = { group, version, resource: names.plural };
  const path = apiPath(place as Kind);
  const load = useLoad(`instances/${path}`, (signal) =>
    getJson<Parameters<typeof instanceCount>[0]>(`${path}?limit=1`, signal, metadataOnly),
  );
  return (
    <Loaded load={load}>
      {(list) => {
        const number = instanceCount(list);
        return (
          <p>
            {number === undefined ? t('definition.manyInstances') : t('definition.instances', { count: number, number: count(number) })}{' '}
            <a href={href(pageOf(place))}>{t('object.allOf', { kind: title })}</a>
          </p>
        );
      }}
    </Loaded>
  );
}

export const sections: Readonly<Record<string, readonly Section[]>> = {
  'customresourcedefinitions.apiextensions.k8s.io': [
    summary,
    { View: DefinitionFacts },
    { title: 'definition.instancesTitle', isShown: (object) => definitionOf(object).isServed, View: Instances },
    { title: 'definition.versions', View: Versions },
    { title: 'definition.columns', isShown: (object) => columnsOf(object).length > 0, View: Columns },
  ],
};
