BEGIN TRANSACTION;
CREATE TABLE "commit" (
	id INTEGER NOT NULL,
	sha TEXT NOT NULL,
	subject TEXT NOT NULL,
	date TEXT NOT NULL,
	branch TEXT NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (sha)
);
INSERT INTO "commit" VALUES(1,'abc','Sort faster','2026-01-02T00:00:00+00:00','main');
INSERT INTO "commit" VALUES(2,'def','O''Neil''s "commit"','2026-01-03T00:00:00+00:00','');
CREATE TABLE machine (
	id INTEGER NOT NULL,
	"key" TEXT NOT NULL,
	label TEXT NOT NULL,
	PRIMARY KEY (id),
	UNIQUE ("key")
);
INSERT INTO "machine" VALUES(1,'ant','ant');
INSERT INTO "machine" VALUES(2,'unknown machine','unknown machine');
CREATE TABLE meta (
	name TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (name)
);
INSERT INTO "meta" VALUES('schema','1');
CREATE TABLE sample (
	id INTEGER NOT NULL,
	series INTEGER NOT NULL,
	session INTEGER NOT NULL,
	"commit" INTEGER NOT NULL,
	source INTEGER NOT NULL,
	anchor BOOLEAN NOT NULL,
	n INTEGER NOT NULL,
	location FLOAT NOT NULL,
	observations BLOB NOT NULL,
	processes BLOB,
	PRIMARY KEY (id),
	FOREIGN KEY(series) REFERENCES series (id),
	FOREIGN KEY(session) REFERENCES session (id),
	FOREIGN KEY("commit") REFERENCES "commit" (id),
	FOREIGN KEY(source) REFERENCES source (id)
);
INSERT INTO "sample" VALUES(1,1,1,1,1,0,7,2.5,X'7801636000811FF6608A81C561D64C10D809E5CB3840C4B9A034039416700000FF9D0741',NULL);
INSERT INTO "sample" VALUES(2,2,1,1,1,0,4,15.0,X'780163600001010730C5A000A50DA0B4830300136001A1',X'7801636040058C502E8C060000380003');
INSERT INTO "sample" VALUES(3,1,2,2,2,0,1,9.0,X'780163600001250700008C0063',NULL);
CREATE TABLE series (
	id INTEGER NOT NULL,
	benchmark TEXT NOT NULL,
	metric TEXT NOT NULL,
	unit TEXT NOT NULL,
	higher_is_better BOOLEAN NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (benchmark, metric)
);
INSERT INTO "series" VALUES(1,'sort','time','s',0);
INSERT INTO "series" VALUES(2,'hash','memory','B',0);
CREATE TABLE session (
	id INTEGER NOT NULL,
	"key" TEXT NOT NULL,
	machine INTEGER NOT NULL,
	started TEXT NOT NULL,
	PRIMARY KEY (id),
	UNIQUE ("key"),
	FOREIGN KEY(machine) REFERENCES machine (id)
);
INSERT INTO "session" VALUES(1,'1',1,'2026-01-04T00:00:00+00:00');
INSERT INTO "session" VALUES(2,'2',2,'2026-01-04T00:00:00+00:00');
CREATE TABLE source (
	id INTEGER NOT NULL,
	digest TEXT NOT NULL,
	path TEXT NOT NULL,
	added TEXT NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (digest)
);
INSERT INTO "source" VALUES(1,'e72aacbbebab0f7ac93b3c0c3f30c8ecd1b6d3887dab7ec80ed7c8d1008ac865','a.json','2026-01-04T00:00:00+00:00');
INSERT INTO "source" VALUES(2,'66b398154b229d060a98ff28a31e06994eb3bc68037ba9f1fe48215effc3411e','b.json','2026-01-04T00:00:00+00:00');
CREATE TABLE triage (
	id INTEGER NOT NULL,
	series INTEGER,
	"commit" INTEGER NOT NULL,
	state TEXT NOT NULL,
	reason TEXT NOT NULL,
	who TEXT NOT NULL,
	at TEXT NOT NULL,
	PRIMARY KEY (id),
	FOREIGN KEY(series) REFERENCES series (id),
	FOREIGN KEY("commit") REFERENCES "commit" (id)
);
INSERT INTO "triage" VALUES(1,1,1,'blessed','meant','ann','2026-01-04T00:00:00+00:00');
CREATE INDEX ix_sample_commit ON sample ("commit");
CREATE INDEX ix_sample_series ON sample (series);
CREATE INDEX ix_sample_source ON sample (source);
COMMIT;
