BEGIN TRANSACTION;
CREATE TABLE changes (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at DOUBLE NOT NULL, 
	who TEXT NOT NULL, 
	what TEXT NOT NULL, 
	detail JSON NOT NULL
);
INSERT INTO "changes" VALUES(1,1.7000000051273665428e+09,'owner','add labels','{"names": ["left", "l\u00f3w; \"2\"", "far", "near", "old"]}');
INSERT INTO "changes" VALUES(2,1.70000000551715326306e+09,'owner','add labels','{"names": ["new"]}');
INSERT INTO "changes" VALUES(3,1.70000000552488756181e+09,'owner','rename label','{"old": "far", "new": "far away"}');
INSERT INTO "changes" VALUES(4,1.70000000553689527508e+09,'owner','merge labels','{"source": "near", "target": "far away"}');
INSERT INTO "changes" VALUES(5,1700000005.54491,'owner','retire label','{"name": "old"}');
INSERT INTO "changes" VALUES(6,1.70000000555260324473e+09,'owner','add items','{"number": 1}');
INSERT INTO "changes" VALUES(7,1.70000000673339653018e+09,'owner','add labels','{"names": ["hinted"]}');
CREATE TABLE event_values (
	event INTEGER NOT NULL, 
	label INTEGER NOT NULL, 
	value SMALLINT NOT NULL, 
	PRIMARY KEY (event, label), 
	FOREIGN KEY(event) REFERENCES events (id), 
	FOREIGN KEY(label) REFERENCES labels (id)
)
 WITHOUT ROWID

;
INSERT INTO "event_values" VALUES(1,1,1);
INSERT INTO "event_values" VALUES(1,2,0);
INSERT INTO "event_values" VALUES(1,3,0);
INSERT INTO "event_values" VALUES(1,4,1);
INSERT INTO "event_values" VALUES(1,5,0);
INSERT INTO "event_values" VALUES(2,1,1);
INSERT INTO "event_values" VALUES(2,2,0);
INSERT INTO "event_values" VALUES(2,3,0);
INSERT INTO "event_values" VALUES(2,4,1);
INSERT INTO "event_values" VALUES(2,5,0);
INSERT INTO "event_values" VALUES(3,1,1);
INSERT INTO "event_values" VALUES(3,2,0);
INSERT INTO "event_values" VALUES(3,3,1);
INSERT INTO "event_values" VALUES(3,4,0);
INSERT INTO "event_values" VALUES(3,5,0);
INSERT INTO "event_values" VALUES(4,1,1);
INSERT INTO "event_values" VALUES(4,2,0);
INSERT INTO "event_values" VALUES(4,3,1);
INSERT INTO "event_values" VALUES(4,4,0);
INSERT INTO "event_values" VALUES(4,5,0);
INSERT INTO "event_values" VALUES(5,1,-1);
INSERT INTO "event_values" VALUES(5,2,1);
INSERT INTO "event_values" VALUES(5,3,0);
INSERT INTO "event_values" VALUES(5,4,0);
INSERT INTO "event_values" VALUES(5,5,1);
INSERT INTO "event_values" VALUES(6,1,-1);
INSERT INTO "event_values" VALUES(6,2,1);
INSERT INTO "event_values" VALUES(6,3,0);
INSERT INTO "event_values" VALUES(6,4,0);
INSERT INTO "event_values" VALUES(6,5,1);
INSERT INTO "event_values" VALUES(7,1,1);
INSERT INTO "event_values" VALUES(7,2,0);
INSERT INTO "event_values" VALUES(7,3,0);
INSERT INTO "event_values" VALUES(7,4,1);
INSERT INTO "event_values" VALUES(7,5,0);
INSERT INTO "event_values" VALUES(8,1,1);
INSERT INTO "event_values" VALUES(8,2,0);
INSERT INTO "event_values" VALUES(8,3,0);
INSERT INTO "event_values" VALUES(8,4,1);
INSERT INTO "event_values" VALUES(8,5,0);
INSERT INTO "event_values" VALUES(9,1,1);
INSERT INTO "event_values" VALUES(9,2,0);
INSERT INTO "event_values" VALUES(9,3,1);
INSERT INTO "event_values" VALUES(9,4,0);
INSERT INTO "event_values" VALUES(9,5,0);
INSERT INTO "event_values" VALUES(10,1,1);
INSERT INTO "event_values" VALUES(10,2,0);
INSERT INTO "event_values" VALUES(10,3,1);
INSERT INTO "event_values" VALUES(10,4,0);
INSERT INTO "event_values" VALUES(10,5,0);
INSERT INTO "event_values" VALUES(11,1,1);
INSERT INTO "event_values" VALUES(11,2,1);
INSERT INTO "event_values" VALUES(11,3,0);
INSERT INTO "event_values" VALUES(11,4,0);
INSERT INTO "event_values" VALUES(11,5,1);
INSERT INTO "event_values" VALUES(12,1,1);
INSERT INTO "event_values" VALUES(12,2,1);
INSERT INTO "event_values" VALUES(12,3,0);
INSERT INTO "event_values" VALUES(12,4,0);
INSERT INTO "event_values" VALUES(12,5,1);
INSERT INTO "event_values" VALUES(15,1,1);
INSERT INTO "event_values" VALUES(15,2,0);
INSERT INTO "event_values" VALUES(16,1,0);
INSERT INTO "event_values" VALUES(17,4,0);
INSERT INTO "event_values" VALUES(17,6,0);
INSERT INTO "event_values" VALUES(18,4,1);
INSERT INTO "event_values" VALUES(18,6,0);
INSERT INTO "event_values" VALUES(19,4,0);
INSERT INTO "event_values" VALUES(19,6,1);
INSERT INTO "event_values" VALUES(20,4,1);
INSERT INTO "event_values" VALUES(20,6,0);
INSERT INTO "event_values" VALUES(21,4,0);
INSERT INTO "event_values" VALUES(21,6,0);
INSERT INTO "event_values" VALUES(22,3,1);
INSERT INTO "event_values" VALUES(23,3,1);
INSERT INTO "event_values" VALUES(24,3,1);
INSERT INTO "event_values" VALUES(25,3,1);
INSERT INTO "event_values" VALUES(26,3,0);
INSERT INTO "event_values" VALUES(27,3,1);
INSERT INTO "event_values" VALUES(28,3,0);
INSERT INTO "event_values" VALUES(29,3,1);
INSERT INTO "event_values" VALUES(30,3,0);
INSERT INTO "event_values" VALUES(31,1,1);
INSERT INTO "event_values" VALUES(32,1,1);
INSERT INTO "event_values" VALUES(33,7,1);
CREATE TABLE events (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at DOUBLE NOT NULL, 
	who TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	item INTEGER NOT NULL, 
	asked INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	lease TEXT, 
	undoes INTEGER, 
	FOREIGN KEY(item) REFERENCES items (id), 
	UNIQUE (lease), 
	UNIQUE (undoes), 
	FOREIGN KEY(undoes) REFERENCES events (id)
);
INSERT INTO "events" VALUES(1,1.70000000536590600017e+09,'ann','answer',9,0,'cold start','d5ba6620c067e41a',NULL);
INSERT INTO "events" VALUES(2,1700000005.38128,'bob','answer',9,0,'cold start','ca131cadf231f13f',NULL);
INSERT INTO "events" VALUES(3,1700000005.39252,'ann','answer',12,0,'cold start','6dd9fb994dc60ebd',NULL);
INSERT INTO "events" VALUES(4,1700000005.40646,'bob','answer',12,0,'cold start','1b05866b0705dabc',NULL);
INSERT INTO "events" VALUES(5,1.70000000541841602332e+09,'ann','answer',6,0,'cold start','8df1ccc8e61dbfbd',NULL);
INSERT INTO "events" VALUES(6,1.70000000543321299556e+09,'bob','answer',6,0,'cold start','51d7056e6b148a75',NULL);
INSERT INTO "events" VALUES(7,1700000005.44461,'ann','answer',17,0,'control','24abd7217c717901',NULL);
INSERT INTO "events" VALUES(8,1700000005.4533,'bob','answer',17,0,'control','9a81861042258ec5',NULL);
INSERT INTO "events" VALUES(9,1700000005.46241,'ann','answer',15,0,'cold start','85cc4ae41a034c4b',NULL);
INSERT INTO "events" VALUES(10,1.70000000546910500528e+09,'bob','answer',15,0,'cold start','64c36772b9bf84b1',NULL);
INSERT INTO "events" VALUES(11,1.70000000547713088993e+09,'ann','answer',5,0,'cold start','ac636157e273d541',NULL);
INSERT INTO "events" VALUES(12,1700000005.48518,'bob','answer',5,0,'cold start','3a9bd193956515d1',NULL);
INSERT INTO "events" VALUES(13,1.70000000549077796936e+09,'ann','undo',5,0,'cold start',NULL,11);
INSERT INTO "events" VALUES(14,1.70000000550321102147e+09,'bob','skip',19,0,'control','abcf6a91c90025b3',NULL);
INSERT INTO "events" VALUES(15,1.70000000550881409646e+09,'cid','answer',2,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(16,1.70000000551339292527e+09,'cid','answer',2,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(17,1.70000000553135704995e+09,'dan','answer',4,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(18,1.70000000553166294098e+09,'dan','answer',5,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(19,1.70000000553189110756e+09,'dan','answer',6,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(20,1.70000000553213095663e+09,'dan','answer',7,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(21,1.70000000553233289717e+09,'dan','answer',8,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(22,1.70000000553781080241e+09,'ann','answer',9,3,'cold start','merged:4:9:ann',NULL);
INSERT INTO "events" VALUES(23,1.70000000553781080241e+09,'bob','answer',9,3,'cold start','merged:4:9:bob',NULL);
INSERT INTO "events" VALUES(24,1.70000000553781080241e+09,'ann','answer',17,3,'control','merged:4:17:ann',NULL);
INSERT INTO "events" VALUES(25,1.70000000553781080241e+09,'bob','answer',17,3,'control','merged:4:17:bob',NULL);
INSERT INTO "events" VALUES(26,1.70000000553781080241e+09,'dan','answer',4,3,'told','merged:4:4:dan',NULL);
INSERT INTO "events" VALUES(27,1.70000000553781080241e+09,'dan','answer',5,3,'told','merged:4:5:dan',NULL);
INSERT INTO "events" VALUES(28,1.70000000553781080241e+09,'dan','answer',6,3,'told','merged:4:6:dan',NULL);
INSERT INTO "events" VALUES(29,1.70000000553781080241e+09,'dan','answer',7,3,'told','merged:4:7:dan',NULL);
INSERT INTO "events" VALUES(30,1.70000000553781080241e+09,'dan','answer',8,3,'told','merged:4:8:dan',NULL);
INSERT INTO "events" VALUES(31,1.7000000055520553589e+09,'owner','answer',21,0,'given',NULL,NULL);
INSERT INTO "events" VALUES(32,1.7000000067316250801e+09,'eve','answer',2,0,'settled',NULL,NULL);
INSERT INTO "events" VALUES(33,1.70000000673474359509e+09,'owner','answer',3,7,'told',NULL,NULL);
CREATE TABLE invitations (
	digest TEXT NOT NULL, 
	who TEXT NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	used_at DOUBLE, 
	PRIMARY KEY (digest), 
	FOREIGN KEY(who) REFERENCES users (name)
);
INSERT INTO "invitations" VALUES('0357248796460170269a172cbfb4f1fb46d2095b69d9e3c709dac3700487a3dc','ann',1.70060480671855640414e+09,NULL);
INSERT INTO "invitations" VALUES('d8cba718ef856278d41f598dca6b6c973851cd60e100b5cc04e5ea401ecd9baf','eve',1.70060480672143983843e+09,NULL);
CREATE TABLE items (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	content JSON, 
	numbers BLOB, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "items" VALUES(1,'p0','{"text": "point 0", "gr\u00f6\u00dfe": 0.0}',X'00000000000000000000000000000000');
INSERT INTO "items" VALUES(2,'p1','{"text": "point 1", "gr\u00f6\u00dfe": 0.5}',X'000000000000F03F0000000000000000');
INSERT INTO "items" VALUES(3,'p2','{"text": "point 2", "gr\u00f6\u00dfe": 1.0}',X'00000000000000400000000000000000');
INSERT INTO "items" VALUES(4,'p3','{"text": "point 3", "gr\u00f6\u00dfe": 1.5}',X'00000000000008400000000000000000');
INSERT INTO "items" VALUES(5,'p4','{"text": "point 4", "gr\u00f6\u00dfe": 2.0}',X'00000000000010400000000000000000');
INSERT INTO "items" VALUES(6,'p5','{"text": "point 5", "gr\u00f6\u00dfe": 2.5}',X'0000000000000000000000000000F03F');
INSERT INTO "items" VALUES(7,'p6','{"text": "point 6", "gr\u00f6\u00dfe": 3.0}',X'000000000000F03F000000000000F03F');
INSERT INTO "items" VALUES(8,'p7','{"text": "point 7", "gr\u00f6\u00dfe": 3.5}',X'0000000000000040000000000000F03F');
INSERT INTO "items" VALUES(9,'p8','{"text": "point 8", "gr\u00f6\u00dfe": 4.0}',X'0000000000000840000000000000F03F');
INSERT INTO "items" VALUES(10,'p9','{"text": "point 9", "gr\u00f6\u00dfe": 4.5}',X'0000000000001040000000000000F03F');
INSERT INTO "items" VALUES(11,'p10','{"text": "point 10", "gr\u00f6\u00dfe": 5.0}',X'00000000000000000000000000000040');
INSERT INTO "items" VALUES(12,'p11','{"text": "point 11", "gr\u00f6\u00dfe": 5.5}',X'000000000000F03F0000000000000040');
INSERT INTO "items" VALUES(13,'p12','{"text": "point 12", "gr\u00f6\u00dfe": 6.0}',X'00000000000000400000000000000040');
INSERT INTO "items" VALUES(14,'p13','{"text": "point 13", "gr\u00f6\u00dfe": 6.5}',X'00000000000008400000000000000040');
INSERT INTO "items" VALUES(15,'p14','{"text": "point 14", "gr\u00f6\u00dfe": 7.0}',X'00000000000010400000000000000040');
INSERT INTO "items" VALUES(16,'p15','{"text": "point 15", "gr\u00f6\u00dfe": 7.5}',X'00000000000000000000000000000840');
INSERT INTO "items" VALUES(17,'p16','{"text": "point 16", "gr\u00f6\u00dfe": 8.0}',X'000000000000F03F0000000000000840');
INSERT INTO "items" VALUES(18,'p17','{"text": "point 17", "gr\u00f6\u00dfe": 8.5}',X'00000000000000400000000000000840');
INSERT INTO "items" VALUES(19,'p18','{"text": "point 18", "gr\u00f6\u00dfe": 9.0}',X'00000000000008400000000000000840');
INSERT INTO "items" VALUES(20,'p19','{"text": "point 19", "gr\u00f6\u00dfe": 9.5}',X'00000000000010400000000000000840');
INSERT INTO "items" VALUES(21,'given','"x"',X'00000000000022400000000000002240');
CREATE TABLE labels (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	retired_at DOUBLE, 
	merged_into INTEGER, 
	start JSON, 
	PRIMARY KEY (id), 
	FOREIGN KEY(merged_into) REFERENCES labels (id)
);
INSERT INTO "labels" VALUES(1,'left',NULL,NULL,NULL);
INSERT INTO "labels" VALUES(2,'lów; "2"',NULL,NULL,NULL);
INSERT INTO "labels" VALUES(3,'far away',NULL,NULL,NULL);
INSERT INTO "labels" VALUES(4,'near',NULL,3,NULL);
INSERT INTO "labels" VALUES(5,'old',1700000005.54491,NULL,NULL);
INSERT INTO "labels" VALUES(6,'new',NULL,NULL,NULL);
INSERT INTO "labels" VALUES(7,'hinted',NULL,NULL,'{"like": {"1": 0.5}}');
CREATE TABLE labelwise_project (
	"key" TEXT NOT NULL, 
	value JSON NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "labelwise_project" VALUES('format','"labelwise project"');
INSERT INTO "labelwise_project" VALUES('version',2);
INSERT INTO "labelwise_project" VALUES('identity','"11e9486a0ff74f5581f79c8a16bd2302"');
INSERT INTO "labelwise_project" VALUES('settings','{"model": "binary_relevance", "strategy": "uncertainty", "model_options": {}, "features": {"kind": "numbers", "width": 2, "sparse": false}, "control": 0.2, "overlap": 2, "overlap_share": 1.0, "lease_seconds": 600.0, "ready": 12, "read_cost": 0.0, "answer_cost": 1.0, "label_costs": {}, "start": 0, "random_state": 0}');
INSERT INTO "labelwise_project" VALUES('picture_folders','[]');
CREATE TABLE leases (
	token TEXT NOT NULL, 
	item INTEGER NOT NULL, 
	label INTEGER NOT NULL, 
	who TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	score DOUBLE, 
	rank INTEGER NOT NULL, 
	beliefs BLOB, 
	given_at DOUBLE NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	state TEXT NOT NULL, 
	words TEXT, 
	PRIMARY KEY (token), 
	FOREIGN KEY(item) REFERENCES items (id)
);
INSERT INTO "leases" VALUES('d5ba6620c067e41a',9,0,'ann','cold start',1.04797895030149956774e+00,0,NULL,1.70000000534798407559e+09,1700000605.34799,'answered',NULL);
INSERT INTO "leases" VALUES('ca131cadf231f13f',9,0,'bob','cold start',1.04797895030149956774e+00,0,NULL,1.70000000536983799934e+09,1.70000060536984300618e+09,'answered',NULL);
INSERT INTO "leases" VALUES('6dd9fb994dc60ebd',12,0,'ann','cold start',8.84949839114036573839e-01,1,NULL,1.70000000538530302053e+09,1.70000060538530898095e+09,'answered',NULL);
INSERT INTO "leases" VALUES('1b05866b0705dabc',12,0,'bob','cold start',8.84949839114036573839e-01,1,NULL,1700000005.3974,1.70000060539740395545e+09,'answered',NULL);
INSERT INTO "leases" VALUES('8df1ccc8e61dbfbd',6,0,'ann','cold start',7.0360358078468165921e-01,2,NULL,1.70000000541446399686e+09,1.70000060541446900361e+09,'answered',NULL);
INSERT INTO "leases" VALUES('51d7056e6b148a75',6,0,'bob','cold start',7.0360358078468165921e-01,2,NULL,1.70000000542783904081e+09,1.7000006054278430939e+09,'answered',NULL);
INSERT INTO "leases" VALUES('24abd7217c717901',17,0,'ann','control',NULL,3,NULL,1.70000000543830490119e+09,1.70000060543830895428e+09,'answered',NULL);
INSERT INTO "leases" VALUES('9a81861042258ec5',17,0,'bob','control',NULL,3,NULL,1.7000000054493188858e+09,1.70000060544932389255e+09,'answered',NULL);
INSERT INTO "leases" VALUES('85cc4ae41a034c4b',15,0,'ann','cold start',6.49494039653523591582e-01,4,NULL,1.70000000546107292173e+09,1700000605.46108,'answered',NULL);
INSERT INTO "leases" VALUES('64c36772b9bf84b1',15,0,'bob','cold start',6.49494039653523591582e-01,4,NULL,1.70000000546522188186e+09,1.70000060546522688861e+09,'answered',NULL);
INSERT INTO "leases" VALUES('ac636157e273d541',5,0,'ann','cold start',3.66447754779228196397e-01,5,NULL,1.70000000547326803211e+09,1.7000006054732720852e+09,'answered',NULL);
INSERT INTO "leases" VALUES('3a9bd193956515d1',5,0,'bob','cold start',3.66447754779228196397e-01,5,NULL,1.70000000548128890991e+09,1.70000060548129391675e+09,'answered',NULL);
INSERT INTO "leases" VALUES('8f6e71263de30c51',5,0,'ann','cold start',3.66447754779228196397e-01,5,NULL,1.70000000549160289759e+09,1.70000060549160790447e+09,'open',NULL);
INSERT INTO "leases" VALUES('abcf6a91c90025b3',19,0,'bob','control',NULL,6,NULL,1.70000000549734592431e+09,1.70000060549735307691e+09,'skipped',NULL);
INSERT INTO "leases" VALUES('befc69ec370e2530',19,0,'cid','control',NULL,6,NULL,1.70000000550533509257e+09,1.70000060550533890722e+09,'open',NULL);
INSERT INTO "leases" VALUES('9edddda23c0b3519',18,0,'cid','cold start',2.66713685611977224798e-01,7,NULL,1.7000000055056641102e+09,1.70000060550566792485e+09,'open',NULL);
CREATE TABLE questions (
	"plan" INTEGER NOT NULL, 
	item INTEGER NOT NULL, 
	label INTEGER NOT NULL, 
	rank INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	score DOUBLE, 
	remaining INTEGER NOT NULL, 
	beliefs BLOB, 
	words TEXT, 
	PRIMARY KEY ("plan", item, label), 
	FOREIGN KEY(item) REFERENCES items (id)
);
INSERT INTO "questions" VALUES(2,4,0,1,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,7,0,2,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,8,0,3,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,11,0,4,'strategy',2.65693096989998878143e+00,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,1,0,5,'strategy',2.61614086004056956014e+00,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,16,0,6,'strategy',2.45163595175788362467e+00,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,13,0,7,'strategy',2.20118056100191594737e+00,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,14,0,8,'strategy',1.83383401420095593081e+00,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,3,0,10,'control',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,10,0,11,'strategy',1.7359105148922475692e+00,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,20,0,12,'strategy',1.25720718213930204854e+00,2,NULL,NULL);
CREATE TABLE sessions (
	digest TEXT NOT NULL, 
	who TEXT NOT NULL, 
	is_local BOOLEAN NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	PRIMARY KEY (digest)
);
CREATE TABLE tokens (
	name TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	added_at DOUBLE NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "tokens" VALUES('label-studio','ae8cd5875a29933cca55c9e0a072168d8602edead1d293d97969372c739c58a1',1.7000000067261052132e+09);
CREATE TABLE trainings (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	state TEXT NOT NULL, 
	started_at DOUBLE NOT NULL, 
	finished_at DOUBLE, 
	seen_event INTEGER NOT NULL, 
	seen_change INTEGER NOT NULL, 
	message TEXT, 
	report JSON
);
INSERT INTO "trainings" VALUES(1,'good',1.70000000518346118926e+09,1.700000005284441948e+09,0,1,NULL,'{"answers": 0, "control_items": 0}');
INSERT INTO "trainings" VALUES(2,'good',1.70000000555778551106e+09,1.70000000560247564317e+09,31,6,NULL,'{"answers": 17, "control_items": 1, "f1": {"f1": null, "low": null, "high": null, "items": 1, "entries": 3, "found": 2, "needed": 20}, "calibration": {"bins": [{"entries": 1, "believed": 0.1936, "share": 0.0, "low": 0.0, "high": 0.7715}, {"entries": 2, "believed": 0.7667, "share": 1.0, "low": 0.4307, "high": 1.0}], "error": 0.2201}, "labels": {"1": [10, 1, 2, null], "2": [3, 9, 0, 1.0], "3": [10, 6, 0, 0.6667], "6": [1, 4, 0, null]}, "pairs": [["ann", "bob", 14, 14, 1.0], ["ann", "dan", 1, 1, null], ["bob", "dan", 2, 1, 0.0]], "base_rates": {"left": {"rate": 0.75, "low": 0.22851981380632874, "high": 0.9984570806973271}, "l\u00f3w; \"2\"": {"rate": 0.25, "low": 0.0015429193026729434, "high": 0.7714801861936711}, "far away": {"rate": 0.75, "low": 0.22851981380632874, "high": 0.9984570806973271}}, "forecast": null}');
CREATE TABLE users (
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	added_at DOUBLE NOT NULL, 
	removed_at DOUBLE, 
	PRIMARY KEY (name)
);
INSERT INTO "users" VALUES('ann','annotator',1.70000000671586561206e+09,NULL);
INSERT INTO "users" VALUES('eve','admin',1.70000000672112417223e+09,NULL);
CREATE INDEX events_of_a_person ON events (item, who);
CREATE INDEX events_by_person ON events (who, id);
CREATE INDEX questions_in_order ON questions ("plan", rank);
CREATE INDEX leases_by_state ON leases (state, expires_at);
CREATE INDEX leases_of_an_item ON leases (item, label);
CREATE VIEW votes AS 
        SELECT event, item, label, who, reason, value FROM (
            SELECT e.id AS event, e.item, v.label, e.who, e.reason, v.value,
                   row_number() OVER (PARTITION BY e.item, v.label, e.who ORDER BY e.id DESC) AS latest
            FROM events e JOIN event_values v ON v.event = e.id
            WHERE e.kind = 'answer' AND NOT EXISTS (SELECT 1 FROM events u WHERE u.undoes = e.id)
        ) AS said WHERE latest = 1;
CREATE VIEW current_labels AS 
        SELECT item, label, CASE WHEN yes > no THEN 1 WHEN no > yes THEN 0 ELSE last_word END AS value FROM (
            SELECT item, label, sum(CASE WHEN value = 1 THEN weight ELSE 0 END) OVER of_label AS yes,
                   sum(CASE WHEN value = 0 THEN weight ELSE 0 END) OVER of_label AS no,
                   first_value(value) OVER newest AS last_word, row_number() OVER newest AS latest
            FROM (SELECT *, CASE WHEN reason = 'settled' THEN 1000000 ELSE 1 END AS weight FROM votes) AS weighed
            WHERE value >= 0
            WINDOW of_label AS (PARTITION BY item, label),
                   newest AS (PARTITION BY item, label ORDER BY event DESC)
        ) AS counted WHERE latest = 1;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('changes',7);
INSERT INTO "sqlite_sequence" VALUES('trainings',2);
INSERT INTO "sqlite_sequence" VALUES('events',33);
COMMIT;
