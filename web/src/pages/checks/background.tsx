/** Whether the maps of one model lie more on the background than those of another. */
import type { Background, BackgroundLine } from "../../api/client";
import { useBackground, useStudy } from "../../api/queries";
import { DataTable, ExportMenu, Loaded, Panel, Select, tableData, type Column } from "../../components";
import { interval, percent, pValue, signed } from "../../format";
import { setParams, useUrl } from "../../url";
import { dotted } from "./lines";

const share = (key: "share_one" | "share_other", title: string): Column<BackgroundLine> => ({
  key,
  title,
  name: key,
  value: (line) => line[key],
  render: (line) => percent(line[key], 1),
  align: "right",
});

const columnsOf = ({ one, other }: Background): Column<BackgroundLine>[] => [
  { key: "method", title: "Method", value: (line) => dotted(line.method, line.target) },
  share("share_one", one),
  share("share_other", other),
  {
    key: "difference",
    title: "Difference",
    value: (line) => line.difference,
    render: (line) => (
      <span className="score">
        <b>{signed(line.difference)}</b> <small>{interval(line.low, line.high)}</small>
      </span>
    ),
    align: "right",
  },
  { key: "p", title: "p", value: (line) => line.p, render: (line) => pValue(line.p), align: "right" },
  { key: "p_holm", title: "p, Holm", value: (line) => line.p_holm, render: (line) => pValue(line.p_holm), align: "right" },
  { key: "images", title: "Images", value: (line) => line.images, align: "right" },
];

function Answer({ answer }: { answer: Background }) {
  return (
    <>
      <DataTable
        columns={columnsOf(answer)}
        rows={answer.lines}
        rowKey={({ method, target }) => `${method} ${target}`}
        caption={`Share of maps outside all regions: ${answer.one} against ${answer.other}`}
        hideCaption
      />
      <p className="note">{answer.note}</p>
    </>
  );
}

/** A model that leans on the background shows it in its maps, if these are about the model. */
export function BackgroundPanel() {
  const study = useStudy().data;
  const { params } = useUrl();
  const models = study?.models.filter((model) => !model.baseline).map(({ name }) => name) ?? [];
  const words = { one: params.get("one") ?? undefined, other: params.get("other") ?? undefined };
  const answer = useBackground(words, { keep: true, enabled: models.length > 1 });
  if (models.length < 2) return null;
  const field = (name: "one" | "other", label: string) => (
    <Select
      label={label}
      value={answer.data?.[name] ?? ""}
      options={models.map((value) => ({ value, label: value, disabled: value === answer.data?.[name === "one" ? "other" : "one"] }))}
      onChange={(value) => setParams({ [name]: value })}
    />
  );
  const tools = answer.data && (
    <ExportMenu name="background" data={() => tableData(columnsOf(answer.data!), answer.data!.lines)} />
  );
  return (
    <Panel title="Does one model look more at the background?" tools={tools} id="background">
      <div className="checks-filters">
        {field("one", "Model")}
        {field("other", "against")}
      </div>
      <Loaded of={answer}>{(data) => <Answer answer={data} />}</Loaded>
    </Panel>
  );
}
